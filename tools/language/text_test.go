package language

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/extension/lsp"
)

func TestResultsAsText(t *testing.T) {
	at := func(line int) string {
		return fmt.Sprintf(`{"start": {"line": %d, "character": 4}, "end": {"line": 99, "character": 0}}`, line)
	}
	where := func(name string, line int) string {
		return fmt.Sprintf(`"uri": "file:///w/%s", "range": %s`, name, at(line))
	}
	shown := text{
		name: filepath.Base,
		line: func(path string, line int) string {
			return map[string]string{"/w/a.go 2": "\t two \n", "/w/long 1": strings.Repeat("x", 1000)}[fmt.Sprint(path, " ", line)]
		},
	}
	for result, want := range map[string]string{
		`{` + where("a.go", 1) + `}`:    "a.go:2:5: two",
		`{` + where("b%20c", 0) + `}`:   "b c:1:5",
		`{` + where("long", 0) + `}`:    "long:1:5: " + strings.Repeat("x", maxLineText) + "...",
		`{"uri": "jdt://x"}`:            `{"uri": "jdt://x"}`,
		`{"uri": "file:///w/a.go"}`:     `{"uri": "file:///w/a.go"}`,
		`[1]`:                           `[1]`,
		`{"kind": "x", "name": "new"}`:  `{"kind": "x", "name": "new"}`,
		`{"name": "n", "kind": 99}`:     "n asked.go",
		`{"contents": {"value": "v"}}`:  "v",
		`{"contents": "a\n\nb"}`:        "a\n\nb",
		`{"contents": {"kind": "new"}}`: `{"contents": {"kind": "new"}}`,
		`{"contents": ["a ", {"language": "go", "value": "func x()"}, ""]}`:                                                                                                                           "a\n\nfunc x()",
		`{"targetUri": "file:///w/a.go", "targetRange": ` + at(7) + `, "targetSelectionRange": ` + at(1) + `}`:                                                                                        "a.go:2:5: two",
		`{"targetUri": "file:///w/a.go", "targetRange": ` + at(7) + `}`:                                                                                                                               "a.go:8:5",
		`{"name": "New\nline", "kind": 12, "location": {` + where("b.go", 2) + `}, "containerName": "pkg"}`:                                                                                           "function New line b.go:3:5 (in pkg)",
		`{"name": "N", "kind": 5, "location": {"uri": "file:///w/b.go"}}`:                                                                                                                             "class N b.go",
		`{"name": "T", "kind": 23, "range": ` + at(0) + `, "selectionRange": ` + at(1) + `, "children": [{"name": "F", "kind": 8, "range": ` + at(2) + `, "children": [{"name": "G", "kind": 26}]}]}`: "struct T asked.go:2:5\n  field F asked.go:3:5\n    type parameter G asked.go",
		`{"name": "item", "kind": 6, ` + where("c.go", 3) + `, "selectionRange": ` + at(4) + `}`:                                                                                                      "method item c.go:5:5",
		`{"from": {"name": "f", "kind": 12, ` + where("c.go", 3) + `}, "fromRanges": [` + at(8) + `, ` + at(9) + `]}`:                                                                                 "function f c.go:4:5, calls it at 9:5, 10:5",
		`{"to": {"name": "t", "kind": 12, ` + where("c.go", 3) + `}, "fromRanges": [` + at(8) + strings.Repeat(`, `+at(8), 21) + `]}`:                                                                 "function t c.go:4:5, called by it at " + strings.Repeat("9:5, ", maxCallRanges) + "and 2 more",
		`{"to": {"name": "t", "uri": "file:///w/c.go"}, "fromRanges": []}`:                                                                                                                            "t c.go",
	} {
		if got := shown.of(lsp.Query{Path: "/w/asked.go"}, json.RawMessage(result)); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", result, got, want)
		}
	}
	deep := strings.Repeat(`{"name": "n", "children": [`, 2000) + strings.Repeat(`]}`, 2000)
	if got := shown.of(lsp.Query{Path: "/w/a"}, json.RawMessage(deep)); len(got) > 2000*(2*maxLevels+10) || !strings.HasSuffix(got, "n a") {
		t.Errorf("%d bytes for 2000 levels", len(got))
	}
}
