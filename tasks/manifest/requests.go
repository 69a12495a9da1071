package manifest

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// The limits of what a manifest can allow agents to request on a forge.
const (
	maxRequests    = 20 // of one kind
	maxLabels      = 50
	maxLabel       = 100 // bytes
	maxTitlePrefix = 60  // likewise
)

// Requests is which changes of the forge an agent may request.
type Requests struct {
	form.Value
	Labels, Issue, Comment *RequestLimit
}

// RequestLimit limits one kind of requests.
type RequestLimit struct {
	form.Value
	Max         int
	Allow       []string // labels
	TitlePrefix string   // of issues
}

var requestsForm = form.Of[Requests]{Type: form.TypeOf((*Requests).keys), Read: readRequests}

// readRequests reads the requests that a task allows, and records what policies refuse of it.
func readRequests(v form.Value) (Requests, bool) {
	r := readLimits(v)
	if v.IsMapping() && len(r.byKind()) == 0 {
		v.KeyProblem("requests allows nothing", "write labels, issue or comment, or remove it")
	}
	if !v.Refused(policy.Publish, "publish.requests", policy.RequestsKey) {
		for kind, limit := range r.byKind() {
			if by, what := v.Src.Policies.RefusesRequests(kind, limit.Max, limit.Allow); what != "" {
				limit.Refuse(what, by)
			}
		}
	}
	return r, true
}

// readLimits reads limits of a manifest or a policy.
func readLimits(v form.Value) Requests {
	r := Requests{Value: v}
	r.keys().Read(v)
	return r
}

func (r Requests) byKind() map[string]*RequestLimit {
	all := map[string]*RequestLimit{}
	for kind, limit := range map[string]*RequestLimit{"labels": r.Labels, "issue": r.Issue, "comment": r.Comment} {
		if limit != nil {
			all[kind] = limit
		}
	}
	return all
}

// bounds returns the limits as a policy has them.
func (r Requests) bounds() *policy.Requests {
	b := &policy.Requests{Max: map[string]int{}, Source: r.RuleSource()}
	for kind, limit := range r.byKind() {
		b.Max[kind], b.Labels = limit.Max, append(b.Labels, limit.Allow...)
	}
	return b
}

func (r *Requests) keys() form.Table {
	return form.Table{
		{Name: "labels", Field: form.Into(&r.Labels, limitForm((*RequestLimit).labelKeys)), Doc: "Labels for the issue or pull request of the event, or else for the job's pull request"},
		{Name: "issue", Field: form.Into(&r.Issue, limitForm((*RequestLimit).issueKeys)), Doc: "New issues"},
		{Name: "comment", Field: form.Into(&r.Comment, limitForm((*RequestLimit).commentKeys)), Doc: "Comments on the issue or pull request of the event, or else on the job's pull request"},
	}
}

// limitForm is the form of the limits of one kind.
func limitForm(keys func(*RequestLimit) form.Table) form.Of[*RequestLimit] {
	return form.Of[*RequestLimit]{Type: form.TypeOf(keys), Read: func(v form.Value) (*RequestLimit, bool) {
		l := form.WithDefaults(keys)
		l.Value = v
		keys(&l).Read(v)
		return &l, true
	}}
}

func (l *RequestLimit) labelKeys() form.Table {
	return form.Table{
		{Name: "allow", Field: form.Required(`allow: [bug, "area/*"]`, form.Into(&l.Allow, form.UpTo(maxLabels, form.ListOf(labelForm)))), Doc: "Labels that may be requested; * stands for any text"},
		l.maxKey("3", "Labels of one job"),
	}
}

func (l *RequestLimit) issueKeys() form.Table {
	return form.Table{
		l.maxKey("1", "Issues of one job"),
		{Name: "title_prefix", Field: form.Into(&l.TitlePrefix, prefixForm), Doc: "Text that the titles of issues start with; it is added where it is missing"},
	}
}

func (l *RequestLimit) commentKeys() form.Table {
	return form.Table{l.maxKey("1", "Comments of one job")}
}

func (l *RequestLimit) maxKey(def, doc string) form.Row {
	return form.Row{Name: "max", Field: form.Into(&l.Max, form.Between(1, maxRequests)), Def: def, Doc: doc}
}

// labelForm is the form of a label. GitLab reads a comma as the end of one.
var labelForm = shortText("label", maxLabel, ",")

var prefixForm = shortText("title prefix", maxTitlePrefix, "")

// shortText is the form of a text of one line without some characters.
func shortText(what string, most int, without string) form.Of[string] {
	return form.Of[string]{Type: form.Type{Name: "string"}, Read: func(v form.Value) (string, bool) {
		t, ok := v.Filled()
		if ok && (len(t.S) > most || strings.ContainsAny(t.S, without) || strings.ContainsFunc(t.S, unicode.IsControl)) {
			fix := fmt.Sprintf("write at most %d characters in one line", most)
			if without != "" {
				fix += ", without " + problem.Quote(without)
			}
			v.Problem("invalid "+what+" "+problem.Quote(t.S), fix)
			return "", false
		}
		return t.S, ok
	}}
}

// requestsProperty is the property of final messages with requests.
const requestsProperty = "requests"

// schemaFault returns why final messages that match a schema, that of an object, can't also have requests; "" if they can.
func schemaFault(schema map[string]any) string {
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "const", "enum", "propertyNames", "maxProperties", "patternProperties", "dependentSchemas", "dependencies"} {
		if _, ok := schema[keyword]; ok {
			return "has " + keyword
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	if _, taken := properties[requestsProperty]; taken {
		return "has a property " + requestsProperty
	}
	return ""
}
