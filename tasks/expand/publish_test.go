package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

func TestTheTaskOrTheFlagSetsThePublishMode(t *testing.T) {
	manifest := head + `repos: [{path: d}, {url: "https://h/api"}]
tasks:
- {id: a, prompt: p}
- {id: b, prompt: p, publish: {mode: push}, commit: {if_exists: append}}
- {id: c, prompt: p, publish: {mode: patch}, repos: [{path: d}], commit: false}
- {id: d, prompt: p, publish: {mode: push}, repos: [{path: d}], commit: {branch: "@current"}}
`
	for _, tt := range []struct {
		name string
		o    tasks.Overrides
		want []tasks.PublishMode
	}{
		{"the manifest", tasks.Overrides{}, []tasks.PublishMode{"none", "none", "push", "push", "patch", "push"}},
		{"a flag", tasks.Overrides{Publish: tasks.PublishPatch}, []tasks.PublishMode{"patch", "patch", "patch", "patch", "patch", "patch"}},
		{"a flag that lowers the mode", tasks.Overrides{Publish: tasks.PublishNone}, []tasks.PublishMode{"none", "none", "none", "none", "none", "none"}},
		{"a flag for the selected jobs", tasks.Overrides{Publish: tasks.PublishPush, Only: []string{"a", "b"}}, []tasks.PublishMode{"push", "push", "push", "push"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, manifest, map[string]string{"d/": ""}, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			var got []tasks.PublishMode
			for _, j := range p.Jobs {
				got = append(got, j.Publish)
				if want := map[string]tasks.IfExists{"a": tasks.FailIfExists, "b": tasks.AppendIfExists}[j.Task]; want != "" && j.Commit.IfExists != want {
					t.Errorf("%s: if_exists is %q", j.ID, j.Commit.IfExists)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("modes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextsOfPullRequestsKeepTheVariablesOfResults(t *testing.T) {
	p, err := loadText(t, head+`repos: [{url: "https://h/api"}]
vars: {x: y}
tasks:
- {id: a, prompt: p, publish: {mode: pr, base: dev, title: "${{ vars.x }} ${{ task.id }}: ${{ summary }}", body: "${{verify}} ${{ cost }} ${{ report }} ${{ patterns }}", draft: true, labels: [bot], reviewers: [ada, org/team], assignees: [bob], fork: mill}}
- {id: b, prompt: p, publish: {mode: push, title: x}}
`, nil, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	want := &tasks.PullRequest{
		Base: "dev", Title: "y a: ${{ summary }}", Body: "${{ verify }} ${{ cost }} ${{ report }} ${{ patterns }}", Draft: true,
		Labels: []string{"bot"}, Reviewers: []string{"ada", "org/team"}, Assignees: []string{"bob"}, IfExists: tasks.ReplaceIfExists, Fork: "mill",
	}
	if diff := cmp.Diff(want, p.Jobs[0].Pull); diff != "" || p.Jobs[1].Pull != nil {
		t.Errorf("pull request (-want +got):\n%s %v", diff, p.Jobs[1].Pull)
	}
}

func TestUnpublishableWorkIsRefused(t *testing.T) {
	checkMistakes(t, []mistake{
		{"without a commit", head + `tasks:
- {id: a, prompt: p, publish: {mode: push}, commit: false}
- {id: b, prompt: p, commit: false, publish: {mode: branch}}`, []string{
			`m.yaml:4:38: publish: push requires a commit, but the task has commit: false; remove commit: false, or write mode: none`,
			`m.yaml:5:53: publish: branch requires a commit, but the task has commit: false; remove commit: false, or write mode: none`,
		}},
		{"a pull request of the branch that is checked out", head + `tasks:
- {id: a, prompt: p, publish: {mode: pr}, commit: {branch: "@current", message: "${{ summary }}"}}`, []string{
			`m.yaml:4:38: publish: pr requires a branch of its own, not @current; name a branch, or write mode: push`,
			`m.yaml:4:82: unknown variable "summary"; write vars.NAME, matrix.KEY, repo.name, repo.ref, env.NAME, task.id, run.id, run.date or event.PATH, or $${{ for the text ${{ itself`,
		}},
		{"a copy", head + "repos: [{copy: d}]\ntasks: [{id: a, prompt: p, publish: {mode: push}}]", []string{
			`m.yaml:4:44: publish: push is not supported for copy repositories; write mode: none, patch or branch, or use path or url`,
		}},
		{"in place in a remote repository", head + `repos: [{url: "https://h/a"}, {url: "https://h/b"}]
tasks:
- {id: a, prompt: p, commit: false}
- {id: b, prompt: p, commit: {branch: "@current"}}
- {id: c, prompt: p, commit: {branch: "@${{ matrix.k }}"}, matrix: {k: [current]}}`, []string{
			`m.yaml:5:30: commit: false is not supported for url repositories; remove it; publish: {mode: patch} keeps the patch alone`,
			`m.yaml:6:39: branch @current is not supported for url repositories; name a branch`,
			`m.yaml:7:39: branch @current is not supported for url repositories; name a branch`,
		}},
		{"branches that are always there", head + `tasks:
- {id: a, prompt: p, commit: {branch: "@current", if_exists: append}}
- {id: b, prompt: p, commit: {if_exists: replace, branch: "@current"}}
- {id: c, prompt: p, commit: {if_exists: skip, branch: "@current"}}
- {id: d, prompt: p, commit: {if_exists: fail, branch: "@current"}}`, []string{
			`m.yaml:4:62: if_exists: append is not supported with branch @current; remove it, or name a branch`,
			`m.yaml:5:42: if_exists: replace is not supported with branch @current; remove it, or name a branch`,
			`m.yaml:6:42: if_exists: skip is not supported with branch @current; remove it, or name a branch`,
		}},
		{"no mode", head + "tasks: [{id: a, prompt: p, publish: pusj}, {id: b, prompt: p, publish: 5}]", []string{
			`m.yaml:3:37: "mode" must be one of none, patch, branch, push, pr, not "pusj"; did you mean "push"?`,
			`m.yaml:3:72: "publish" must be a mapping, not the number 5; write KEY: VALUE`,
		}},
	})
	_, err := loadText(t, head+"repos: [{copy: d}]\ntasks: [{id: a, prompt: p}, {id: b, prompt: p, repos: [{path: d}], commit: false}]", besideManifest, tasks.Overrides{Publish: tasks.PublishPush})
	want := []string{
		"--publish: task a: publish: push is not supported for copy repositories; write mode: none, patch or branch, or use path or url",
		"--publish: task b: publish: push requires a commit, but the task has commit: false; remove commit: false, or write mode: none",
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("by the flag (-want +got):\n%s", diff)
	}
}

func TestLargestCloneLimitApplies(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"a.yaml": oneTask, "b.yaml": head + "clones: 2\ntasks: [{id: b, prompt: p}]", "c.yaml": head + "clones: 7\ntasks: [{id: c, prompt: p}]",
	})
	for _, tt := range []struct {
		paths []string
		want  int
	}{{[]string{"a.yaml"}, 4}, {[]string{"a.yaml", "b.yaml"}, 2}, {[]string{"b.yaml", "c.yaml"}, 7}} {
		p, err := Load(t.Context(), tt.paths, options(dir))
		if err != nil || p.Clones != tt.want {
			t.Errorf("%v: %d clones, %v", tt.paths, p.Clones, err)
		}
	}
}
