package patterns

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// collect returns the result of patches, one for each repository.
func collect(patches ...string) *Result {
	c := &Collector{}
	for i, p := range patches {
		c.Add(Change{Job: fmt.Sprintf("job-%d", i), Repo: fmt.Sprintf("repo-%d", i)}, strings.NewReader(p))
	}
	return c.Result()
}

func repeated(n int, patch string) (all []string) {
	for range n {
		all = append(all, patch)
	}
	return all
}

// toRead lists the jobs to read with their reasons.
func toRead(r *Result) string {
	var all []string
	for _, g := range r.Reading {
		for _, reason := range g.Reasons {
			all = append(all, fmt.Sprintf("%s: %s %s", g.Job, reason.Kind, reason.Detail))
		}
	}
	return strings.Join(all, "\n")
}

func TestAShapeOfFewRepositoriesIsRare(t *testing.T) {
	common := patchOf("a.go", "-\tx := old.Read(n)\n+\tx := io.Read(n)")
	other := patchOf("a.go", "-\tx := old.Read(n)\n+\tx := io.Write(n)")
	r := collect(append(repeated(4, common), other, common+other)...)
	if got, want := toRead(r), "job-4: rare old.Read → io.Write\njob-5: rare old.Read → io.Write"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.Common != 1 || len(r.Patterns) != 2 || r.ToRead != 2 || !r.Compared {
		t.Errorf("%+v", r)
	}
	p := r.Patterns[0]
	if p.Number != 1 || p.Edits != 5 || len(p.Repositories) != 5 || p.Example.Location() != "a.go:1" || p.Example.Diff != "-\tx := old.Read(n)\n+\tx := io.Read(n)\n" || p.Rare {
		t.Errorf("%+v", p)
	}
	if p := r.Patterns[1]; !p.Rare || p.Number != 0 || strings.Join(p.Jobs, " ") != "job-4 job-5" {
		t.Errorf("%+v", p)
	}
}

// In a run that changed fewer than 3 repositories every shape would be rare.
func TestShapesOfFewRepositoriesAreNotCompared(t *testing.T) {
	one := patchOf("a.go", "-\ta()\n+\tb()")
	r := collect(one, one)
	if r.Compared || len(r.Reading) != 0 || r.Common != 1 || r.Patterns[0].Rare {
		t.Errorf("%+v", r)
	}
	c := &Collector{}
	for i := range 5 { // several jobs of a repository count once
		c.Add(Change{Job: fmt.Sprint(i), Repo: "same"}, strings.NewReader(one))
	}
	if r := c.Result(); r.Compared || r.Repositories != 1 || r.Patterns[0].Edits != 5 || len(r.Patterns[0].Repositories) != 1 {
		t.Errorf("%+v", r)
	}
	if r := (&Collector{}).Result(); r.Compared || r.Patterns == nil || r.Reading == nil {
		t.Errorf("%+v", r)
	}
}

// An inverted condition and a dropped error are listed up to a tenth of the repositories: above
// that the task asked for it.
func TestRiskyShapesAreListedUnlessTheyAreCommon(t *testing.T) {
	plain := patchOf("a.go", "-\ta()\n+\tb()")
	inverted := patchOf("a.go", "-\tif err != nil {\n+\tif err == nil {")
	dropped := patchOf("a.go", "-\tx, err := f()\n+\tx, _ := f()")
	r := collect(append(repeated(50, plain), append(repeated(4, inverted), repeated(4, dropped)...)...)...)
	if r.ToRead != 8 || strings.Count(toRead(r), "conditions changed != to ==") != 4 || strings.Count(toRead(r), "errors an error is no longer handled") != 4 {
		t.Error(toRead(r))
	}
	if r := collect(repeated(20, inverted)...); r.ToRead != 0 {
		t.Error(toRead(r))
	}
}

func TestPatchesThatCantBeRead(t *testing.T) {
	c := &Collector{}
	c.Add(Change{Job: "a", Repo: "r"}, iotest.ErrReader(errors.New("gone")))
	c.Add(Change{Job: "b", Repo: "r"}, io.MultiReader(strings.NewReader("diff --git a/a b/a\n"), iotest.ErrReader(errors.New("gone"))))
	if got, want := toRead(c.Result()), "a: unread a patch that can't be read: gone\nb: unread a patch that can't be read: gone"; got != want {
		t.Errorf("got %s", got)
	}
}

// A patch with thousands of different edits is listed, and stored only up to a limit.
func TestShapesAreStoredUpToALimit(t *testing.T) {
	var b strings.Builder
	for i := range 3 * maxShapes {
		fmt.Fprintf(&b, "-\tf%d()\n+\tg%d()\n \n", i, i)
	}
	r := collect(patchOf("a.go", b.String()))
	if got := toRead(r); !strings.HasPrefix(got, "job-0: unread more than 1000 different edits") || len(r.Patterns) > maxShapes {
		t.Errorf("%d patterns, %s", len(r.Patterns), got)
	}
}

// The result does not depend on the order of the jobs, except for the order of its lists and the
// examples.
func TestTheOrderOfJobsDoesNotChangeTheResult(t *testing.T) {
	a, b := patchOf("a.go", "-\ta()\n+\tb()"), patchOf("b.go", "-\tc()\n+\td()")
	first, second := collect(a, a, a, b), collect(b, a, a, a)
	if first.Patterns[0].Shape != second.Patterns[0].Shape || first.ToRead != second.ToRead {
		t.Errorf("%+v %+v", first, second)
	}
}
