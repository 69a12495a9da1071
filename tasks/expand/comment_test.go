package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

func TestComments(t *testing.T) {
	manifest := head + `repos: [{url: "https://h/api"}]
tasks:
- {id: a, prompt: p, publish: {comment: {issue: 7}}}
- {id: b, prompt: p, commit: false, repos: [{path: d}], publish: {mode: none, comment: {pull_request: "${{ env.PR }}", sticky: true}}}
- {id: c, prompt: p, publish: {mode: pr, comment: {pull_request: "${{ matrix.n }}"}}, matrix: {n: [8]}}
- {id: d, prompt: p}
`
	for _, tt := range []struct {
		mode tasks.PublishMode
		want []*tasks.Comment
	}{
		{"", []*tasks.Comment{{Number: 7, Issue: true}, {Number: 12, Sticky: true}, {Number: 8}, nil}},
		{tasks.PublishPatch, []*tasks.Comment{nil, nil, nil, nil}},
		{tasks.PublishNone, []*tasks.Comment{nil, nil, nil, nil}},
	} {
		o := options(dirWith(t, map[string]string{"m.yaml": manifest, "d/": ""}))
		o.Overrides.Publish = tt.mode
		o.Getenv = func(name string) string { return map[string]string{"PR": "12"}[name] }
		p, err := Load(t.Context(), []string{"m.yaml"}, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []*tasks.Comment
		for i, j := range p.Jobs {
			got = append(got, j.Comment)
			if later := j.Later; (later == nil) != (tt.mode == "") || later != nil && (later.Publish == tasks.PublishPR) != (j.Task == "c") || later != nil && (later.Pull == nil) != (j.Task != "c") {
				t.Errorf("mode %q: job %d has later %+v", tt.mode, i, later)
			} else if later != nil && j.Task == "b" && cmp.Diff(&tasks.Comment{Number: 12, Sticky: true}, later.Comment) != "" {
				t.Errorf("mode %q: %+v", tt.mode, later.Comment)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("mode %q (-want +got):\n%s", tt.mode, diff)
		}
	}
}

func TestCommentProblems(t *testing.T) {
	checkMistakes(t, []mistake{
		{"numbers", head + `vars: {x: "01", y: ""}
tasks:
- {id: a, prompt: p, publish: {comment: {issue: 0}}}
- {id: b, prompt: p, publish: {comment: {issue: abc}}}
- {id: c, prompt: p, publish: {comment: {pull_request: "${{ vars.x }}"}}}
- {id: d, prompt: p, publish: {comment: {pull_request: "${{ env.PR_NUMBER }}"}}}
- {id: e, prompt: p, publish: {comment: {issue: 1, pull_request: 2}}}
- {id: f, prompt: p, publish: {comment: {sticky: true}}}
- {id: g, prompt: p, publish: {comment: 7}}`, []string{
			`m.yaml:5:49: "issue" must be the number of an issue or pull request, not the number 0; write for example 12, or ${{ env.PR_NUMBER }}`,
			`m.yaml:6:49: "issue" must be the number of an issue or pull request, not the string "abc"; write for example 12, or ${{ env.PR_NUMBER }}`,
			`m.yaml:7:56: invalid number "01" of an issue or pull request; write for example 12, or a variable with such a value`,
			`m.yaml:8:57: the environment variable PR_NUMBER is not set; set it, or use vars: for a value of the manifest`,
			`m.yaml:9:52: issue and pull_request are both set; remove one of them`,
			`m.yaml:10:32: missing key "issue" in "comment"; write issue: N or pull_request: N`,
			`m.yaml:11:41: "comment" must be a mapping, not the number 7; write KEY: VALUE`,
		}},
		{"lines of a diff", head + `tasks:
- {id: a, prompt: p, publish: {comment: {pull_request: 1, inline: true}}}
- {id: b, prompt: p, output: {schema: findings}, publish: {comment: {issue: 1, inline: true}}}
- {id: c, prompt: p, output: {schema: findings}, publish: {comment: {pull_request: 1, inline: sure}}}`, []string{
			`m.yaml:4:41: publish.comment.inline requires findings; write output: {schema: findings}, or remove inline`,
			`m.yaml:5:88: inline is not supported for an issue: it has no diff; remove it, or write pull_request: N`,
			`m.yaml:6:95: "inline" must be true or false, not the string "sure"; write true or false`,
		}},
		{"a copy", head + "repos: [{copy: d}]\ntasks: [{id: a, prompt: p, publish: {comment: {issue: 1}}}]", []string{
			`m.yaml:4:47: publish.comment is not supported for copy repositories; remove it, or use path or url`,
		}},
	})
}

func TestAPolicyRefusesComments(t *testing.T) {
	manifest := map[string]string{"m.yaml": head + "tasks: [{id: a, prompt: p, publish: {comment: {issue: 1}}}]"}
	for allowed, want := range map[string][]string{
		"pr":           {"m.yaml:3:38: publish.comment not allowed by publish (p.yaml:2); remove it, or change the policy"},
		policy.Comment: nil,
	} {
		o := options(dirWith(t, manifest))
		o.Policies = policy.Set{{Path: "p.yaml", Rules: []policy.Rule{{Key: policy.Publish, Allow: []string{allowed}, Source: "p.yaml:2"}}}}
		_, err := Load(t.Context(), []string{"m.yaml"}, o)
		var got []string
		if err != nil {
			got = lines(t, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", allowed, diff)
		}
	}
}

// A manifest can be tried without the event that its comment is for.
func TestACommentThatIsPostedLaterIsNoProblem(t *testing.T) {
	o := options(dirWith(t, map[string]string{"m.yaml": head + "tasks: [{id: a, prompt: p, publish: {mode: pr, title: \"${{ env.X }}\", comment: {issue: \"${{ env.PR }}\"}, requests: {labels: {allow: [x]}}}}]\n"}))
	o.Overrides.Publish, o.Getenv = tasks.PublishPatch, func(string) string { return "" }
	p, err := Load(t.Context(), []string{"m.yaml"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if j := p.Jobs[0]; j.Later == nil || j.Later.Comment != nil || j.Later.Pull == nil || j.Requests.Made() {
		t.Errorf("%+v", j.Later)
	}
}
