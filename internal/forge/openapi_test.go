package forge_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/text/schema"
)

// operation is an operation of the reduced documents: see testdata/openapi/README.md.
type operation struct {
	Method, Path string
	Query        map[string]map[string]any
	Body         map[string]any
	Responses    map[string]map[string]any
}

// operations returns the operations of a kind of forge, nil for GitLab, whose document is
// not included.
func operations(t *testing.T, kind string) []operation {
	t.Helper()
	if kind == "gitlab" {
		return nil
	}
	text, err := os.ReadFile("testdata/openapi/" + kind + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []operation
	for line := range bytes.Lines(text) {
		var op operation
		if err := json.Unmarshal(line, &op); err != nil {
			t.Fatal(err)
		}
		all = append(all, op)
	}
	return all
}

// checkCalls checks the requests that a forge received, and its responses of success,
// against the vendor's document.
func checkCalls(t *testing.T, s *forgetest.Server) {
	t.Helper()
	all := operations(t, s.Kind)
	if all == nil {
		t.Log("GitLab's requests are not checked: its OpenAPI document is not included, see testdata/openapi/README.md")
		return
	}
	for _, c := range s.Calls() {
		if s.Kind == "gitea" {
			c.Body = withoutNull(t, c.Body)
			if strings.HasSuffix(c.Path, "/comments") { // has no pages, and Gitea's SDK requests the first one of each list
				delete(c.Query, "page")
				delete(c.Query, "limit")
			}
		}
		checkCall(t, all, c)
	}
}

// withoutNull removes the fields that are null from a document: Swagger 2.0 can't express null, and Gitea's SDK sends it for
// fields that are missing.
func withoutNull(t *testing.T, text []byte) []byte {
	t.Helper()
	if len(text) == 0 {
		return text
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(doc, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func checkCall(t *testing.T, all []operation, c forgetest.Call) {
	t.Helper()
	name := c.Method + " " + c.Path
	if c.Path == "/graphql" {
		return // is not in the document
	}
	for _, op := range all {
		if op.Method != c.Method || !matches(op.Path, c.Path) {
			continue
		}
		for key, values := range c.Query {
			if op.Query[key] == nil {
				t.Errorf("%s: unknown query parameter %s", name, key)
				continue
			}
			checkDocument(t, name+"?"+key, op.Query[key], scalar(op.Query[key]["type"], values[0]))
		}
		if len(c.Body) > 0 {
			if op.Body == nil {
				t.Errorf("%s has a body", name)
				return
			}
			checkDocument(t, name+": body", op.Body, string(c.Body))
		}
		if c.Fault != "" || c.Status >= 300 {
			return
		}
		want, ok := op.Responses[strconv.Itoa(c.Status)]
		if !ok {
			t.Errorf("%s: forgetest responds with status %d, which the document lacks", name, c.Status)
		}
		if want != nil {
			checkDocument(t, name+": response", want, string(c.Response))
		}
		return
	}
	t.Errorf("%s is not in the document", name)
}

// matches reports whether a path is one of a template.
func matches(template, path string) bool {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!strings.HasPrefix(a[i], "{") || strings.Contains(a[i], "}.{") && !strings.Contains(b[i], ".")) {
			return false
		}
	}
	return true
}

// scalar returns a query parameter as JSON.
func scalar(kind any, value string) string {
	if kind == "integer" || kind == "boolean" {
		return value
	}
	return strconv.Quote(value)
}

func checkDocument(t *testing.T, name string, compile map[string]any, text string) {
	t.Helper()
	s, err := schema.Compile(compile)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	doc, err := schema.Parse(text)
	if err == nil {
		err = s.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %v: %s", name, err, text)
	}
}

// TestDocumentsOfAPIsRejectWrongBodies shows that the documents find what is wrong.
func TestDocumentsOfAPIsRejectWrongBodies(t *testing.T) {
	for _, kind := range []string{"github", "gitea"} {
		var body map[string]any
		for _, op := range operations(t, kind) {
			if op.Method == "POST" && strings.HasSuffix(op.Path, "/pulls") {
				body = op.Body
			}
		}
		s, err := schema.Compile(body)
		if err != nil {
			t.Fatal(err)
		}
		for text, valid := range map[string]bool{
			`{"title": "a", "head": "b", "base": "main"}`:                       true,
			`{"title": "a", "head": "b", "base": "main", "target_branch": "x"}`: false,
			`{"title": 1, "head": "b", "base": "main"}`:                         false,
		} {
			doc, err := schema.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(doc); (err == nil) != valid {
				t.Errorf("%s: %s: %v", kind, text, err)
			}
		}
	}
}
