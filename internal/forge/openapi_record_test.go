package forge

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// The documents that the vendors publish, for -run TestRecordOpenAPI: see
// testdata/openapi/README.md.
var published = map[Kind]*string{
	GitHub: flag.String("openapi-github", "", "record the parts of GitHub's OpenAPI document (JSON) that are used"),
	Gitea:  flag.String("openapi-gitea", "", "record the parts of Gitea's Swagger document (JSON) that are used"),
}

// operation is an operation of an API as tests check it: without texts, and of its
// responses only with what the client reads.
type operation struct {
	Method    string                    `json:"method"`
	Path      string                    `json:"path"`
	Query     map[string]map[string]any `json:"query,omitempty"`
	Body      map[string]any            `json:"body,omitempty"`
	Responses map[string]map[string]any `json:"responses"` // of success; null has no content
}

// githubCheck and githubStatus are what the dialect of GitHub reads of a check run and of the combined status.
type (
	githubCheck struct {
		ID         int64  `json:"id"`
		Name       string `json:"name"`
		Status     string `json:"status"`
		Conclusion string `json:"conclusion"`
		URL        string `json:"html_url"`
		Output     struct {
			Title   string `json:"title"`
			Summary string `json:"summary"`
			Text    string `json:"text"`
		} `json:"output"`
		App *struct {
			Slug string `json:"slug"`
		} `json:"app"`
	}
	githubStatus struct {
		State string `json:"state"`
		Total int    `json:"total_count"`
	}
)

// allRuns and anyStatus are what the types that read the same response have together.
type (
	allRuns struct {
		Runs []struct {
			githubCheck
			timed
		} `json:"check_runs"`
	}
	anyStatus struct {
		commitStatus
		Created *time.Time `json:"created_at"`
		Updated *time.Time `json:"updated_at"`
	}
)

// TestEachOperationOnce checks that no operation is listed twice: only the first one is compared.
func TestEachOperationOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, u := range used() {
		for kind := range strings.FieldsSeq(u.kinds) {
			name := kind + " " + u.method + " " + u.path
			if seen[name] {
				t.Errorf("%s is listed twice", name)
			}
			seen[name] = true
		}
	}
}

// used lists the operations that the client uses, with the type that reads the response.
func used() []struct {
	kinds, method, path string
	out                 any
} {
	return []struct {
		kinds, method, path string
		out                 any
	}{
		{"github gitea", "get", "/user", userJSON{}},
		{"github gitea", "get", "/repos/{owner}/{repo}", repoJSON{}},
		{"github gitea", "get", "/repos/{owner}/{repo}/pulls", []pullJSON{}},
		{"github gitea", "post", "/repos/{owner}/{repo}/pulls", pullJSON{}},
		{"gitea", "get", "/repos/{owner}/{repo}/pulls/{index}.{diffType}", nil},
		{"github gitea", "get", "/repos/{owner}/{repo}/pulls/{index}", pullJSON{}},
		{"github gitea", "patch", "/repos/{owner}/{repo}/pulls/{index}", nil},
		{"github gitea", "post", "/repos/{owner}/{repo}/pulls/{index}/requested_reviewers", nil},
		{"github", "post", "/repos/{owner}/{repo}/issues/{index}/labels", nil},
		{"gitea", "post", "/repos/{owner}/{repo}/issues/{index}/labels", []labelJSON{}},
		{"github", "post", "/repos/{owner}/{repo}/issues/{index}/assignees", nil},
		{"gitea", "get", "/repos/{owner}/{repo}/issues/{index}", nil},
		{"github gitea", "get", "/repos/{owner}/{repo}/issues/{index}/comments", []commentJSON{}},
		{"github gitea", "post", "/repos/{owner}/{repo}/issues/{index}/comments", commentJSON{}},
		{"github gitea", "patch", "/repos/{owner}/{repo}/issues/comments/{id}", commentJSON{}},
		{"github", "get", "/repos/{owner}/{repo}/commits/{ref}/status", githubStatus{}},
		{"github", "get", "/repos/{owner}/{repo}/commits/{ref}/check-runs", allRuns{}},
		{"github gitea", "get", "/repos/{owner}/{repo}/git/commits/{sha}", commitJSON{}},
		{"github gitea", "get", "/repos/{owner}/{repo}/commits/{ref}/statuses", []anyStatus{}},
		{"github", "get", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs", nil},
		{"github", "get", "/repos/{owner}/{repo}/pulls/{index}/comments", []remarkJSON{}},
		{"github gitea", "get", "/repos/{owner}/{repo}/pulls/{index}/reviews", []remarkJSON{}},
		{"gitea", "get", "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments", []remarkJSON{}},
		{"github gitea", "post", "/repos/{owner}/{repo}/pulls/{index}/reviews", nil},
		{"github", "get", "/repos/{owner}/{repo}/pulls/{index}/files", []fileJSON{}},
		{"github", "patch", "/repos/{owner}/{repo}/pulls/comments/{id}", commentJSON{}},
		{"gitea", "post", "/repos/{owner}/{repo}/pulls/comments/{id}/resolve", nil},
		{"gitea", "post", "/repos/{owner}/{repo}/pulls/comments/{id}/unresolve", nil},
		{"github gitea", "get", "/repos/{owner}/{repo}/collaborators/{collaborator}/permission", permissionJSON{}},
		{"gitea", "get", "/repos/{owner}/{repo}/labels", []labelJSON{}},
		{"gitea", "post", "/repos/{owner}/{repo}/labels", nil},
		{"github gitea", "get", "/repos/{owner}/{repo}/issues", []issueJSON{}},
		{"github gitea", "post", "/repos/{owner}/{repo}/issues", issueJSON{}},
		{"github", "put", "/repos/{owner}/{repo}/pulls/{index}/merge", nil},
		{"gitea", "post", "/repos/{owner}/{repo}/pulls/{index}/merge", nil},
		{"github gitea", "post", "/repos/{owner}/{repo}/forks", nil},
		{"github gitea", "get", "/orgs/{org}/repos", []repoJSON{}},
		{"github gitea", "get", "/users/{username}/repos", []repoJSON{}},
		{"gitea", "get", "/users/{username}", nil},
		{"github", "get", "/user/repos", []repoJSON{}},
		{"github", "get", "/repos/{owner}/{repo}/commits", nil},
	}
}

// document is an OpenAPI 3.0 or Swagger 2.0 document.
type document map[string]any

// TestRecordOpenAPI reduces the documents that the flags name.
func TestRecordOpenAPI(t *testing.T) {
	for kind, name := range published {
		if *name == "" {
			continue
		}
		text, err := os.ReadFile(*name)
		if err != nil {
			t.Fatal(err)
		}
		var doc document
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, u := range used() {
			if !slices.Contains(strings.Fields(u.kinds), string(kind)) {
				continue
			}
			op := doc.operation(t, u.method, u.path, reflect.TypeOf(u.out))
			if err := json.NewEncoder(&out).Encode(op); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile("testdata/openapi/"+string(kind)+".jsonl", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// at returns what is at a path of keys, nil if it is missing.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// resolve follows references.
func (d document) resolve(v any) map[string]any {
	m, _ := v.(map[string]any)
	for {
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		m, _ = at(map[string]any(d), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	}
}

// find returns a path's operations; parameters may have other names.
func (d document) find(t *testing.T, path string) map[string]any {
	t.Helper()
	for name, item := range d["paths"].(map[string]any) {
		a, b := strings.Split(name, "/"), strings.Split(path, "/")
		if slices.EqualFunc(a, b, func(x, y string) bool { return x == y || parameter(x) && parameter(y) }) {
			return item.(map[string]any)
		}
	}
	t.Fatalf("%s is not in the document", path)
	return nil
}

// parameter reports whether a segment of a path is a parameter, and not {index}.{type}.
func parameter(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.IndexByte(segment, '}') == len(segment)-1
}

func (d document) operation(t *testing.T, method, path string, out reflect.Type) operation {
	t.Helper()
	item := d.find(t, path)
	raw := d.resolve(item[method])
	if raw == nil {
		t.Fatalf("%s %s is not in the document", method, path)
	}
	op := operation{Method: strings.ToUpper(method), Path: path, Query: map[string]map[string]any{}, Responses: map[string]map[string]any{}}
	op.Body = d.schema(at(d.resolve(raw["requestBody"]), "content", "application/json", "schema"), nil, false)
	shared, _ := item["parameters"].([]any)
	own, _ := raw["parameters"].([]any)
	for _, p := range slices.Concat(shared, own) {
		p := d.resolve(p)
		name, _ := p["name"].(string)
		switch p["in"] {
		case "query":
			schema := p
			if p["schema"] != nil {
				schema = d.resolve(p["schema"])
			}
			op.Query[name] = d.schema(schema, nil, false)
		case "body":
			op.Body = d.schema(p["schema"], nil, false)
		}
	}
	responses, _ := raw["responses"].(map[string]any)
	for status, response := range responses {
		if status[0] != '2' {
			continue
		}
		r := d.resolve(response)
		schema := r["schema"]
		if schema == nil {
			schema = at(r, "content", "application/json", "schema")
		}
		if op.Responses[status] = nil; out != nil {
			op.Responses[status] = d.schema(schema, out, true)
		}
	}
	return op
}

// schema reduces a schema: to the fields that a type has if out is not nil, and else to
// all fields and no others. Swagger 2.0 can't express null, so there a field of a response
// may be null.
func (d document) schema(v any, out reflect.Type, response bool) map[string]any {
	s := d.resolve(v)
	if s == nil {
		return nil
	}
	for out != nil && out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	small := map[string]any{}
	for _, key := range []string{"type", "enum", "minimum", "maximum"} {
		if s[key] != nil {
			small[key] = s[key]
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		var subs []any
		for _, sub := range list {
			subs = append(subs, d.schema(sub, out, response))
		}
		if subs != nil && key == "oneOf" && response {
			key = "anyOf" // what distinguishes them may be removed
		}
		if subs != nil {
			small[key] = subs
		}
	}
	if s["items"] != nil && (out == nil || out.Kind() == reflect.Slice) {
		var elem reflect.Type
		if out != nil {
			elem = out.Elem()
		}
		small["items"] = d.schema(s["items"], elem, response)
	}
	d.properties(small, s, out, response)
	if kind, ok := small["type"].(string); ok && (s["nullable"] == true || response && d["swagger"] != nil) {
		small["type"] = []any{kind, "null"}
		if enum, ok := small["enum"].([]any); ok && !slices.Contains(enum, nil) {
			small["enum"] = append(slices.Clone(enum), nil)
		}
	}
	return small
}

// properties reduces the fields of an object.
func (d document) properties(small, s map[string]any, out reflect.Type, response bool) {
	all, ok := s["properties"].(map[string]any)
	if !ok || response && (out == nil || out.Kind() != reflect.Struct) {
		return
	}
	types := map[string]reflect.Type{}
	if response {
		for _, f := range reflect.VisibleFields(out) {
			types[f.Tag.Get("json")] = f.Type
		}
	} else {
		small["additionalProperties"] = false
	}
	reduced := map[string]any{}
	for name, field := range all {
		if known, ok := types[name]; ok || !response {
			reduced[name] = d.schema(field, known, response)
		}
	}
	small["properties"] = reduced
	var required []any
	list, _ := s["required"].([]any)
	for _, name := range list {
		if reduced[name.(string)] != nil {
			required = append(required, name)
		}
	}
	if required != nil {
		small["required"] = required
	}
}
