package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
)

// Every constant is in the list of types, whose payloads are fields of an event.
func TestEveryTypeIsListedWithItsPayload(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Type" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want[text] = true
		}
		return true
	})
	got := map[string]bool{}
	fields := event.Schema()["properties"].(map[string]any)
	for _, info := range event.Types() {
		got[string(info.Type)] = true
		if fields[info.Payload] == nil || info.Doc == "" {
			t.Errorf("%s: payload %q, doc %q", info.Type, info.Payload, info.Doc)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("types (-constants +listed):\n%s", diff)
	}
}
