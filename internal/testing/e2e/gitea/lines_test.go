package gitea

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/unidiff"
)

// testLines reviews a pull request with comments on lines, replaces one and resolves it.
func testLines(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\nline 10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"
	s.push("acme/web", "main", map[string]string{"lines.txt": before})
	s.api(s.root, "POST", "/repos/acme/web/contents", object{"message": "change files", "branch": "main", "new_branch": "lines", "files": []object{
		{
			"operation": "update", "path": "lines.txt", "content": []byte(strings.Replace(before, "line 10", "changed", 1)),
			"sha": plumbing.ComputeHash(plumbing.BlobObject, []byte(before)).String(),
		},
		{"operation": "create", "path": "new.txt", "content": []byte("x")},
	}}, nil)
	made, _, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "lines"}, Base: "main", Title: "Lines"})
	must(t, err)
	files, err := c.Diff(t.Context(), web, made.Number)
	must(t, err)
	shown := map[string][]unidiff.Line{}
	for _, f := range files {
		shown[f.Path] = unidiff.Shown(f.Hunks)
	}
	lines := shown["lines.txt"]
	if len(lines) != 7 || lines[3].Text != "changed" || lines[3].New != 10 || lines[3].Old != 0 || lines[0].Old != 7 || len(shown["new.txt"]) != 1 {
		t.Fatalf("%+v", shown)
	}
	review := forge.Review{Pull: made, Text: "3 findings"}
	for i, at := range []struct {
		path string
		line unidiff.Line
	}{{"lines.txt", lines[3]}, {"lines.txt", lines[0]}, {"new.txt", shown["new.txt"][0]}} {
		marker := fmt.Sprint("line-", i)
		review.Lines = append(review.Lines, forge.NewLine{Old: at.path, Path: at.path, Line: at.line.New, OldLine: at.line.Old, Marker: marker, Body: forge.Marked("text", marker)})
	}
	must(t, c.CreateReview(t.Context(), web, review))
	own, err := c.OwnLines(t.Context(), web, made.Number)
	if err != nil || len(own) != 3 {
		t.Fatalf("%+v, %v", own, err)
	}
	var reviews []struct{ Body, State string }
	path := fmt.Sprintf("/repos/acme/web/pulls/%d/reviews", made.Number)
	s.api(s.root, "GET", path, nil, &reviews)
	if len(reviews) != 1 || reviews[0].Body != "3 findings" || reviews[0].State != "COMMENT" {
		t.Errorf("%+v", reviews)
	}
	for _, resolved := range []bool{true, false} {
		body := forge.Marked(fmt.Sprint("resolved: ", resolved), "line-0")
		at := func(marker string) int { // their order changes
			return slices.IndexFunc(own, func(l forge.LineComment) bool { return l.Marker == marker })
		}
		must(t, c.EditLine(t.Context(), web, made.Number, own[at("line-0")], body, resolved))
		own, err = c.OwnLines(t.Context(), web, made.Number)
		must(t, err)
		if l := own[at("line-0")]; len(own) != 3 || strings.TrimSpace(l.Body) != strings.TrimSpace(body) || l.Resolved != resolved {
			t.Errorf("%+v", own)
		}
	}
	remarks, err := c.Remarks(t.Context(), web, made.Number)
	must(t, err)
	for _, r := range remarks {
		t.Logf("%+v", r)
	}
	eve := s.client(s.token("mill", "read:repository", "read:issue", "read:user"))
	if err := eve.CreateReview(t.Context(), web, review); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("a token that only reads: %v", err)
	}
}
