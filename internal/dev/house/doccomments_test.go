package house

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocCommentsStateWhatAPackageLeavesToOthers looks for a negation: without one, a reader can't know where the
// package ends, and which package does the rest.
func TestDocCommentsStateWhatAPackageLeavesToOthers(t *testing.T) {
	negation := regexp.MustCompile(`(?i)\b(not|no|nothing|neither|never|only)\b`)
	for dir, files := range sources(t) {
		if outsideWings(dir) {
			continue
		}
		var doc strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			doc.WriteString(files[name].Doc.Text())
		}
		if !negation.MatchString(doc.String()) {
			t.Errorf("the doc comment of %s does not state what the package does not do, or leaves to others:\n%s", dir, doc.String())
		}
	}
}

// TestDocCommentsStartWithTheNameOfWhatTheyDocument finds names that were changed without their comments. The linters check exported
// functions and types only. A comment on a field can be a sentence of another form.
func TestDocCommentsStartWithTheNameOfWhatTheyDocument(t *testing.T) {
	for _, files := range sources(t) {
		for name, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if first := firstWord(n.Doc); first != "" && first != n.Name.Name {
						t.Errorf("%s: the comment on %s is about %s", name, n.Name.Name, first)
					}
				case *ast.Field:
					first := firstWord(n.Doc)
					if slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return strings.EqualFold(id.Name, first) && id.Name != first }) {
						t.Errorf("%s: the comment on the field %s is about %s", name, n.Names[0].Name, first)
					}
				}
				return true
			})
		}
	}
}

// firstWord returns the first word of a comment without punctuation; "" without a comment.
func firstWord(doc *ast.CommentGroup) string {
	word, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
	return strings.Trim(word, ",.:;")
}
