package forge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// changed is the diff of the pull request of reviewing: a renamed file with two hunks, and a new one.
const changed = `diff --git a/old.go b/cart.go
similarity index 80%
rename from old.go
rename to cart.go
--- a/old.go
+++ b/cart.go
@@ -1,3 +1,3 @@
 package cart
-var A = 1
+var A = 2
 // end
@@ -20,1 +20,2 @@ func f() {
 	return
+	// more
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+x
\ No newline at end of file
`

// reviewing opens a forge with the pull request 1.
func reviewing(t *testing.T, kind forge.Kind) (testForge, forge.PullRequest) {
	t.Helper()
	p := open(t, kind)
	p.AddPull(forgetest.Pull{Repo: "Acme/web", Head: "Acme/web", Number: 1, Branch: "fix/a", Base: "main", State: "open", Diff: changed})
	pr, err := p.Pull(t.Context(), web, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p, pr
}

// onLines returns the comments on lines that the forge has.
func (p testForge) onLines() (all []string) {
	for _, n := range p.Notes() {
		if n.Kind == forgetest.LineNote {
			all = append(all, fmt.Sprintf("%s:%d %s resolved=%t", n.Path, n.Line, strings.ReplaceAll(n.Body, "\n", "|"), n.Resolved))
		}
	}
	return all
}

func newLine(path, old string, line, oldLine int, marker string) forge.NewLine {
	return forge.NewLine{Path: path, Old: old, Line: line, OldLine: oldLine, Marker: marker, Body: forge.Marked("Text of "+marker, marker)}
}

func TestTheDiffOfAPullRequestIsTheSameOfAllForges(t *testing.T) {
	for _, kind := range kinds {
		p, _ := reviewing(t, kind)
		got, err := p.Diff(t.Context(), web, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Hunks = strings.TrimSuffix(got[i].Hunks, "\n")
		}
		want := []forge.FileDiff{
			{Old: "old.go", Path: "cart.go", Hunks: "@@ -1,3 +1,3 @@\n package cart\n-var A = 1\n+var A = 2\n // end\n@@ -20,1 +20,2 @@ func f() {\n \treturn\n+\t// more"},
			{Old: "new.txt", Path: "new.txt", Hunks: "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestCommentsOnLinesAreMadeOnceInSpiteOfFaults creates comments on added and unchanged lines, in spite of faults after which the forge has them.
func TestCommentsOnLinesAreMadeOnceInSpiteOfFaults(t *testing.T) {
	lines := []forge.NewLine{newLine("cart.go", "old.go", 2, 0, "one"), newLine("cart.go", "old.go", 20, 20, "two"), newLine("new.txt", "new.txt", 1, 0, "three")}
	want := []string{
		"cart.go:2 Text of one||<!-- millhand:one -->| resolved=false", "cart.go:20 Text of two||<!-- millhand:two -->| resolved=false",
		"new.txt:1 Text of three||<!-- millhand:three -->| resolved=false",
	}
	for _, kind := range kinds {
		for _, fault := range []forgetest.Fault{"", forgetest.Cut, forgetest.CutAfter, forgetest.BrokenAfter, forgetest.Secondary} {
			t.Run(fmt.Sprint(kind, fault), func(t *testing.T) {
				p, pr := reviewing(t, kind)
				suffix := map[forge.Kind]string{forge.GitLab: "/discussions"}[kind]
				if suffix == "" {
					suffix = "/reviews"
				}
				if fault != "" {
					p.Fail(1, fault, "POST", suffix)
				}
				if err := p.CreateReview(t.Context(), web, forge.Review{Pull: pr, Text: "3 findings", Lines: lines}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, p.onLines()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestLinesOfOthersWithAMarkerAreNotOwn has comments of others with a marker, which are not ours.
func TestLinesOfOthersWithAMarkerAreNotOwn(t *testing.T) {
	for _, kind := range kinds {
		p, pr := reviewing(t, kind)
		p.AddNote(forgetest.Note{Repo: "Acme/web", Number: 1, Kind: forgetest.LineNote, Author: "ada", Path: "cart.go", Line: 2, Body: forge.Marked("Mine", "one")})
		p.AddNote(forgetest.Note{Repo: "Acme/web", Number: 1, Kind: forgetest.LineNote, Author: "mill", Path: "cart.go", Line: 3, Body: "no marker"})
		err := p.CreateReview(t.Context(), web, forge.Review{Pull: pr, Text: "1 finding", Lines: []forge.NewLine{newLine("cart.go", "old.go", 2, 0, "one")}})
		if err != nil {
			t.Fatal(err)
		}
		own, err := p.OwnLines(t.Context(), web, 1)
		if err != nil {
			t.Fatal(err)
		}
		own = slices.DeleteFunc(own, func(l forge.LineComment) bool { return l.Marker == "" })
		if len(own) != 1 || own[0].Marker != "one" || own[0].Author != "mill" || forge.Unmarked(own[0].Body, "one") != "Text of one" {
			t.Fatalf("%s: %+v", kind, own)
		}
		// It is replaced and resolved, and opened again.
		for _, resolved := range []bool{true, false} {
			body := forge.Marked(fmt.Sprint("resolved: ", resolved), "one")
			if err := p.EditLine(t.Context(), web, 1, own[0], body, resolved); err != nil {
				t.Fatal(err)
			}
			if own[0], err = last(p.OwnLines(t.Context(), web, 1)); err != nil || own[0].Body != body || own[0].Resolved != (resolved && kind != forge.GitHub) {
				t.Errorf("%s: %+v, %v", kind, own, err)
			}
		}
		calls := len(p.Calls())
		if err := p.EditLine(t.Context(), web, 1, own[0], own[0].Body, false); err != nil || kind != forge.GitHub && len(p.Calls()) != calls {
			t.Errorf("%s: %v, %d requests", kind, err, len(p.Calls())-calls)
		}
	}
}

func last(all []forge.LineComment, err error) (forge.LineComment, error) {
	if len(all) == 0 {
		return forge.LineComment{}, err
	}
	return all[len(all)-1], err
}

// TestReviewsThatAreRefused has a line outside of the diff, and a token that may not write.
func TestReviewsThatAreRefused(t *testing.T) {
	for _, kind := range kinds {
		p, pr := reviewing(t, kind)
		err := p.CreateReview(t.Context(), web, forge.Review{Pull: pr, Text: "1 finding", Lines: []forge.NewLine{newLine("cart.go", "old.go", 10, 0, "one")}})
		if !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("%s: %v", kind, err)
		}
		p.Fail(1, forgetest.Denied, "POST", "")
		err = p.CreateReview(t.Context(), web, forge.Review{Pull: pr, Text: "1 finding", Lines: []forge.NewLine{newLine("cart.go", "old.go", 2, 0, "one")}})
		if !errors.Is(err, forge.ErrDenied) || len(p.onLines()) != 0 {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
