package requests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/schema"
	"github.com/millhand/millhand/tasks"
)

func clean(text string) string { return strings.ReplaceAll(text, "secret-4711", "[redacted]") }

func label(name string) event.ForgeRequest {
	return event.ForgeRequest{Kind: event.LabelRequest, Label: name}
}

func issue(title string) event.ForgeRequest {
	return event.ForgeRequest{Kind: event.IssueRequest, Title: title, Body: "b"}
}

func comment(text string) event.ForgeRequest {
	return event.ForgeRequest{Kind: event.CommentRequest, Body: text}
}

// shown formats decisions in a line each.
func shown(all []event.ForgeRequest) string {
	var lines []string
	for _, r := range all {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s: %s: %s", r.What(), r.Outcome, r.Reason), ": "))
	}
	return strings.Join(lines, "\n")
}

func TestDecide(t *testing.T) {
	full := tasks.Requests{Labels: []string{"bug", "area/*"}, MaxLabels: 2, MaxIssues: 1, TitlePrefix: "[bot] ", MaxComments: 1}
	none := tasks.Requests{MaxIssues: 1}
	skipped := full
	skipped.Skip = "not made with --publish none"
	for _, tt := range []struct {
		name  string
		rules tasks.Requests
		asked []event.ForgeRequest
		want  string
	}{
		{"nothing", full, nil, ""},
		{"what is allowed", full, []event.ForgeRequest{label("bug"), label("area/ui"), issue("Broken"), comment("See #1.")}, "label \"bug\"\nlabel \"area/ui\"\nissue \"[bot] Broken\"\ncomment"},
		{"a label that is not", full, []event.ForgeRequest{label("Bug"), label("wontfix"), label("bug")}, "label \"Bug\": refused: the label is not in publish.requests.labels.allow\nlabel \"wontfix\": refused: the label is not in publish.requests.labels.allow\nlabel \"bug\""},
		{"too many", full, []event.ForgeRequest{label("area/a"), label("area/b"), label("area/c"), issue("a"), issue("b"), comment("a"), comment("b")}, "label \"area/a\"\nlabel \"area/b\"\nlabel \"area/c\": refused: the maximum number was exceeded (publish.requests.labels.max: 2)\nissue \"[bot] a\"\nissue \"[bot] b\": refused: the maximum number was exceeded (publish.requests.issue.max: 1)\ncomment\ncomment: refused: the maximum number was exceeded (publish.requests.comment.max: 1)"},
		{"a kind that is not", none, []event.ForgeRequest{label("bug"), comment("a"), issue("a")}, "label \"bug\": refused: the task does not allow it (publish.requests.labels)\ncomment: refused: the task does not allow it (publish.requests.comment)\nissue \"a\""},
		{"the same again", full, []event.ForgeRequest{label("bug"), label("bug"), label("area/x")}, "label \"bug\"\nlabel \"bug\": refused: it was requested before\nlabel \"area/x\""},
		{"labels that are invalid", full, []event.ForgeRequest{label(""), label("area/a,wontfix"), label("area/\nx"), label("area/\u202ex"), label("area/" + strings.Repeat("x", 100)), label(" area/x")}, "label \"\": refused: the label is invalid\nlabel \"area/a,wontfix\": refused: the label is invalid\nlabel \"area/\\nx\": refused: the label is invalid\nlabel \"area/\\u202ex\": refused: the label is invalid\nlabel \"area/" + strings.Repeat("x", 100) + "\": refused: the label is invalid\nlabel \" area/x\": refused: the label is invalid"},
		{"secrets", full, []event.ForgeRequest{label("area/secret-4711"), issue("secret-4711"), comment("secret-4711")}, "label \"area/[redacted]\": refused: it contains a secret\nissue \"[bot] [redacted]\"\ncomment"},
		{"empty texts", full, []event.ForgeRequest{issue(" \n"), issue("[bot] "), comment(" \n")}, "issue \"[bot] \": refused: the title is empty\nissue \"[bot] [bot]\"\ncomment: refused: the comment is empty"},
		{"a title with the prefix", full, []event.ForgeRequest{issue("[bot] Broken\nand more")}, "issue \"[bot] Broken and more\""},
		{"nothing is to be made", skipped, []event.ForgeRequest{label("bug"), label("wontfix"), issue("a"), issue("b")}, "label \"bug\": skipped: not made with --publish none\nlabel \"wontfix\": refused: the label is not in publish.requests.labels.allow\nissue \"[bot] a\": skipped: not made with --publish none\nissue \"[bot] b\": refused: the maximum number was exceeded (publish.requests.issue.max: 1)"},
	} {
		if diff := cmp.Diff(tt.want, shown(Decide(tt.rules, tt.asked, nil, clean))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDecideAfterOthersWereMade(t *testing.T) {
	rules := tasks.Requests{Labels: []string{"*"}, MaxLabels: 2, MaxIssues: 1}
	first := Decide(rules, []event.ForgeRequest{label("a"), issue("a")}, nil, clean)
	for i := range first {
		first[i].Outcome, first[i].URL = event.RequestDone, "u"
	}
	again := Decide(rules, []event.ForgeRequest{label("a"), issue("a")}, first, clean)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("they would be repeated (-want +got):\n%s", diff)
	}
	another := Decide(rules, []event.ForgeRequest{label("b"), label("c"), label("a"), issue("b")}, first, clean)
	want := "label \"b\"\nlabel \"c\": refused: the maximum number was exceeded (publish.requests.labels.max: 2)\nlabel \"a\": done\nissue \"b\": refused: the maximum number was exceeded (publish.requests.issue.max: 1)"
	if diff := cmp.Diff(want, shown(another)); diff != "" {
		t.Errorf("another message (-want +got):\n%s", diff)
	}
}

func TestSchema(t *testing.T) {
	rules := tasks.Requests{Labels: []string{"bug"}, MaxLabels: 1, Thread: tasks.Thread{Number: 7, Issue: true}}
	own := map[string]any{"type": "object", "additionalProperties": false, "required": []any{"score"}, "properties": map[string]any{"score": map[string]any{"type": "integer"}}}
	for _, tt := range []struct {
		output map[string]any
		text   string
		valid  bool
	}{
		{nil, `{"message": "Fine.", "requests": []}`, true},
		{nil, `{"message": "Fine.", "requests": [{"label": "x"}, {"issue": {"title": "t", "body": "b"}}, {"comment": "c"}]}`, true},
		{nil, `{"message": "Fine."}`, false},
		{nil, `{"requests": []}`, false},
		{nil, `{"message": "Fine.", "requests": [{"label": "x", "comment": "c"}]}`, false},
		{nil, `{"message": "Fine.", "requests": [{"merge": true}]}`, false},
		{nil, `{"message": "Fine.", "requests": [{"issue": {"title": "t", "body": "b", "assignees": ["ada"]}}]}`, false},
		{own, `{"score": 3, "requests": []}`, true},
		{own, `{"score": "3", "requests": []}`, false},
		{own, `{"message": "", "score": 3, "requests": []}`, false},
		{map[string]any{"type": "object"}, `{"any": 1, "requests": []}`, true},
	} {
		s, err := schema.Compile(Schema(rules, tt.output))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := schema.Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); (err == nil) != tt.valid {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	if len(own["properties"].(map[string]any)) != 1 || len(own["required"].([]any)) != 1 {
		t.Errorf("the schema of the task was changed: %v", own)
	}
	written, err := json.Marshal(Schema(rules, nil))
	for _, want := range []string{"Label to add to the issue 7; at most 1 of: bug", "Not allowed"} {
		if !strings.Contains(string(written), want) {
			t.Errorf("the schema lacks %q: %s %v", want, written, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		doc       string
		hasOutput bool
		final     string
		output    string
		asked     []event.ForgeRequest
	}{
		{`{"message": "Fine.", "requests": []}`, false, "Fine.", "", nil},
		{`{"requests": [{"label": "a"}, {"comment": "b"}, {"issue": {"title": "c", "body": "b"}}], "message": "Fine."}`, false, "Fine.", "", []event.ForgeRequest{label("a"), comment("b"), issue("c")}},
		{`{"b": 1.50, "requests": [{"label": "a"}], "a": {"requests": 1}}`, true, `{"b":1.50,"a":{"requests": 1}}`, `{"b":1.50,"a":{"requests": 1}}`, []event.ForgeRequest{label("a")}},
		{`{"message": "of the schema", "requests": []}`, true, `{"message":"of the schema"}`, `{"message":"of the schema"}`, nil},
		{`{"requests": []}`, true, `{}`, `{}`, nil},
	} {
		final, output, asked := Split(json.RawMessage(tt.doc), tt.hasOutput)
		if final != tt.final || string(output) != tt.output {
			t.Errorf("%s: %q, %s", tt.doc, final, output)
		}
		if diff := cmp.Diff(tt.asked, asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.doc, diff)
		}
	}
}

// Whatever a model requests and however a task is limited, no more is made than it allows, and nothing is dropped.
func FuzzDecide(f *testing.F) {
	f.Add(`[{"label": "bug"}, {"label": "bug"}, {"issue": {"title": "a", "body": "b"}}, {"comment": "c"}]`, "bug area/*", uint8(1), uint8(1), uint8(0), uint8(1))
	f.Add(`[{"label": "area/a"}, {"label": "area/b"}, {"label": "x,y"}, {"issue": {"title": "", "body": ""}}]`, "*", uint8(1), uint8(0), uint8(2), uint8(0))
	f.Fuzz(func(t *testing.T, list, allow string, labels, issues, comments, done uint8) {
		rules := tasks.Requests{Labels: strings.Fields(allow), MaxLabels: int(labels % 5), MaxIssues: int(issues % 5), MaxComments: int(comments % 5), TitlePrefix: "[bot] "}
		asked := parse(json.RawMessage(list))
		earlier := slices.Clone(Decide(rules, asked, nil, clean))
		earlier = slices.DeleteFunc(earlier, func(r event.ForgeRequest) bool { return r.Outcome != "" })
		earlier = earlier[:min(len(earlier), int(done))]
		for i := range earlier {
			earlier[i].Outcome = event.RequestDone
		}
		all := Decide(rules, asked, earlier, clean)
		if len(all) != len(asked) {
			t.Fatalf("%d decisions about %d requests", len(all), len(asked))
		}
		made, ids := map[event.RequestKind]int{}, map[string]bool{}
		for _, r := range all {
			if ids[r.ID] {
				t.Errorf("two requests have the id %s", r.ID)
			}
			ids[r.ID] = true
			if r.Outcome == event.RequestRefused {
				if r.Reason == "" {
					t.Errorf("%+v has no reason", r)
				}
				continue
			}
			made[r.Kind]++
			if r.Kind == event.LabelRequest && (strings.Contains(r.Label, ",") || !policy.AllowsLabel(rules.Labels, r.Label)) {
				t.Errorf("label %q is allowed by %q", r.Label, rules.Labels)
			}
			if r.Kind == event.IssueRequest && !strings.HasPrefix(r.Title, "[bot] ") {
				t.Errorf("title %q", r.Title)
			}
		}
		if made[event.LabelRequest] > rules.MaxLabels || made[event.IssueRequest] > rules.MaxIssues || made[event.CommentRequest] > rules.MaxComments {
			t.Errorf("%v exceeds %+v", made, rules)
		}
	})
}

// What an earlier process has left is allowed again by what the task allowed then, and by the policies of now.
func TestRequestsThatWereLeftAreDecidedAgain(t *testing.T) {
	rules := tasks.Requests{Labels: []string{"bug", "area/*"}, MaxLabels: 2, MaxIssues: 1, TitlePrefix: "[bot] ", MaxComments: 1}
	all := Decide(rules, []event.ForgeRequest{label("bug"), label("area/a"), label("wontfix"), issue("a"), comment("secret-4711")}, nil, clean)
	all[0].Outcome = event.RequestDone
	left := []event.ForgeRequest{all[1], all[3], all[4]}
	for i := range left {
		left[i].Outcome, left[i].Reason = event.RequestSkipped, "not made with --publish patch"
	}
	bounds := func(labels string, issues, comments int) policy.Set {
		return policy.Set{{Requests: &policy.Requests{Labels: []string{labels}, Max: map[string]int{"labels": 9, "issue": issues, "comment": comments}, Source: "p.yaml:2"}}}
	}
	for _, tt := range []struct {
		name   string
		rules  tasks.Requests
		bounds policy.Set
		want   string
	}{
		{"what was left", rules, nil, "label \"area/a\"\nissue \"[bot] a\"\ncomment"},
		{"a policy of other labels", rules, bounds("bug", 1, 1), "label \"area/a\": refused: not allowed by requests (p.yaml:2)\nissue \"[bot] a\"\ncomment"},
		{"a policy of fewer requests", rules, bounds("*", 0, 1), "label \"area/a\"\nissue \"[bot] a\": refused: the task does not allow it (publish.requests.issue)\ncomment"},
		{"a task of fewer requests", tasks.Requests{Labels: rules.Labels, MaxLabels: 1}, nil, "label \"area/a\": refused: the maximum number was exceeded (publish.requests.labels.max: 1)\nissue \"[bot] a\": refused: the task does not allow it (publish.requests.issue)\ncomment: refused: the task does not allow it (publish.requests.comment)"},
	} {
		got := Again(tt.rules, tt.bounds, left, all, clean)
		if diff := cmp.Diff(tt.want, shown(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		for i := range got {
			if got[i].ID != left[i].ID {
				t.Errorf("%s: %s is another request than %s", tt.name, got[i].ID, left[i].ID)
			}
		}
	}
}
