package landing

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
)

// repository is a repository with a commit.
type repository struct {
	*gitops.Repo
	t   *testing.T
	dir string
}

// repositoryOf creates a repository whose commit has files.
func repositoryOf(t *testing.T, files map[string]string) repository {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repository{t: t, dir: dir}
	r.git("init", "-q", "-b", "main")
	r.write(files)
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "start")
	if r.Repo, err = gitops.Open(dir, gitdir.Env{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	out, err := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes files; an empty text removes one.
func (r repository) write(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		file := filepath.Join(r.dir, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil && text == "" {
			err = os.Remove(file)
		} else if err == nil {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// changes writes files, and returns what differs from the commit.
func (r repository) changes(files map[string]string) *state.ChangeSet {
	r.t.Helper()
	r.write(files)
	base, err := r.SnapshotOf(r.git("rev-parse", "HEAD"))
	if err != nil {
		r.t.Fatal(err)
	}
	changes, err := r.Changes(r.t.Context(), base)
	if err != nil {
		r.t.Fatal(err)
	}
	return changes
}

func TestExcessesNameTheLimitAndWhatExceedsIt(t *testing.T) {
	const tests = "package a\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n"
	r := repositoryOf(t, map[string]string{"web/a.go": "package a\n", "web/a_test.go": tests, "docs/x": "1\n"})
	changes := r.changes(map[string]string{"web/a.go": "package b\n", "web/a_test.go": strings.ReplaceAll(tests, "func TestB(t *testing.T) {}\n", ""), "docs/x": "", "web/new": "1\n2\n3\n"})
	for name, tt := range map[string]struct {
		below  string
		limits tasks.Change
		want   []string
	}{
		"no limit":                    {"", tasks.Change{}, nil},
		"all paths":                   {"", tasks.Change{Paths: []string{"web", "docs/*"}}, nil},
		"paths of the workspace":      {"web", tasks.Change{Paths: []string{"a*.go", "new", "docs/x"}}, nil},
		"other paths":                 {"", tasks.Change{Paths: []string{"web/*.go"}}, []string{"docs/x: may not be changed (paths: web/*.go)", "web/new: may not be changed (paths: web/*.go)"}},
		"as many files":               {"", tasks.Change{MaxFiles: 4}, nil},
		"more files":                  {"", tasks.Change{MaxFiles: 3}, []string{"4 files changed (max_files: 3)"}},
		"as many lines":               {"", tasks.Change{MaxLines: 7}, nil},
		"more lines":                  {"", tasks.Change{MaxLines: 6}, []string{"7 lines changed, 4 added and 3 removed (max_lines: 6)"}},
		"tests that were deleted":     {"", tasks.Change{NoDeletedTests: true}, []string{"web/a_test.go: 1 test case removed: TestB (no_deleted_tests)"}},
		"none of what may be changed": {"", tasks.Change{Paths: []string{}, MaxFiles: 100}, []string{"docs/x: may not be changed (paths: )", "web/a.go: may not be changed (paths: )", "web/a_test.go: may not be changed (paths: )", "web/new: may not be changed (paths: )"}},
	} {
		over, err := Excesses(t.Context(), r.Repo, tt.below, tt.limits, changes)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range over {
			got = append(got, e.String())
			if prompt := Reduce(over); !strings.Contains(prompt, `limit="`+e.limit) || !strings.Contains(prompt, `result="`+e.what) {
				t.Errorf("%s: the prompt lacks %q:\n%s", name, e, prompt)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(over) > 3 && !strings.HasSuffix(Exceeded(over), "; and 1 more") {
			t.Errorf("%s: %s", name, Exceeded(over))
		}
	}
	if _, err := Excesses(t.Context(), r.Repo, "", tasks.Change{Paths: []string{"["}}, changes); err == nil {
		t.Error("an invalid glob matches")
	}
}

func TestTheFirstPromptHasTheLimits(t *testing.T) {
	if got := Scope(tasks.Change{}); got != "" {
		t.Errorf("without limits: %q", got)
	}
	got := Scope(tasks.Change{Paths: []string{"a", "b/**"}, MaxFiles: 1, MaxLines: 20, NoDeletedTests: true})
	for _, want := range []string{"match: a, b/**\n", "at most 1 file.\n", "at most 20 lines in total.\n", "delete, empty or skip tests.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

func TestLeaksAreSecretsThatWereNotThereBefore(t *testing.T) {
	const old, held = "an-old-secret-4711", "a-held-secret-42"
	known := redact.New([]string{old, held})
	r := repositoryOf(t, map[string]string{"a": "x\n" + old + "\n"})
	changes := r.changes(map[string]string{"a": "x\n" + old + "\ny\n" + held + "\n", "of-" + held: "z\n", "wide": "\xff\xfea\x00-\x00h\x00e\x00l\x00d\x00-\x00s\x00e\x00c\x00r\x00e\x00t\x00-\x004\x002\x00"})
	leaks, err := Leaks(t.Context(), r.Repo, changes, known)
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]int{}
	for _, k := range leaks {
		if where[k.path] = k.line; strings.Contains(k.String(), held) {
			t.Errorf("%s has the secret", k)
		}
	}
	if diff := cmp.Diff(map[string]int{"a": 4, "of-[redacted]": 0, "wide": 0}, where); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"of-[redacted]", "wide"}, Opaque(leaks)); diff != "" {
		t.Errorf("files without lines (-want +got):\n%s", diff)
	}
	patch := "+" + held + "\n context\n"
	if clean, left := Redacted([]byte(patch), leaks, known); string(clean) != "+[redacted]\n context\n" || left {
		t.Errorf("%q, %t", clean, left)
	}
	if clean, left := Redacted([]byte(" "+old+"\n"), nil, known); strings.Contains(string(clean), old) || !left {
		t.Errorf("a key in another line: %q, %t", clean, left)
	}
	if clean, left := Redacted([]byte(" x\n"), nil, known); string(clean) != " x\n" || left {
		t.Errorf("nothing to redact: %q, %t", clean, left)
	}
}

func TestCommitsOfAJobEndWithTheFirstOfAnother(t *testing.T) {
	r := repositoryOf(t, nil)
	start := r.git("rev-parse", "HEAD")
	made := func(job, text string) string {
		m := Message{Run: "r1", Plan: &tasks.Plan{}, Job: tasks.Job{ID: job, Commit: &tasks.Commit{Message: text}}}
		r.git("commit", "-q", "--allow-empty", "-m", m.String())
		return r.git("rev-parse", "HEAD")
	}
	first := made("a", "one")
	last := made("a", "two")
	line, text, err := OwnCommits(r.Repo, last, "r1", "a")
	if diff := cmp.Diff([]string{last, first, start}, line); diff != "" || err != nil || strings.TrimSpace(text) != "one" {
		t.Errorf("%q, %v (-want +got):\n%s", text, err, diff)
	}
	if _, _, err := OwnCommits(r.Repo, last, "r2", "a"); err == nil {
		t.Error("they are of another run")
	}
	if err := Ours(r.Repo, last); err != nil {
		t.Error(err)
	}
	if err := Ours(r.Repo, start); err == nil || !strings.Contains(err.Error(), "was not made by millhand") {
		t.Errorf("a commit of the user: %v", err)
	}
	if Has(r.Repo, strings.Repeat("1", 40)) || !Has(r.Repo, start) {
		t.Error("which commits exist")
	}
}

func TestUncommittablePathsAreListedWithTheirReasons(t *testing.T) {
	got := Uncommittable([]state.Refusal{{Path: "a/b", Reason: state.NestedRepository}, {Path: "c", Reason: "x"}})
	for _, want := range []string{"rm -rf DIR/.git", `<refused path="a/b" reason="` + state.NestedRepository, `<refused path="c" reason="x" />`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if got := Uncommittable(make([]state.Refusal, mostReturned+2)); !strings.HasSuffix(got, "\n(and 2 more)\n") || strings.Contains(got, ".git") {
		t.Errorf("many paths:\n%s", got)
	}
}
