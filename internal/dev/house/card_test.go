package house

import (
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// card is what the packages that the design names do in the program: the functions that call them for
// it. That a package is linked shows nothing: the linker keeps the methods of all types, for templates.
// What the calls result in is checked beside them: that each request has the headers of its SDK
// (TestTheSDKsSendEveryRequest), that cli.App runs every command (TestTheAppRunsEveryCommand).
var card = []struct {
	does, file, function, call string
	times                      int
}{
	{"openai-go sends every request of Chat Completions", "internal/model/openai/chat.go", "Stream", "c.service.NewStreaming", 1},
	{"openai-go sends every request of Responses", "internal/model/openai/responses.go", "once", "r.service.NewStreaming", 1},
	{"anthropic-sdk-go sends every request of Messages", "internal/model/anthropic/anthropic.go", "Stream", "c.service.NewStreaming", 1},
	{"cli.App runs every command", "internal/command/main.go", "Main", "runLine", 1},
	{"cli.App runs every command", "internal/command/arrange.go", "runLine", "app.RunContext", 1},
	{"yaml.v3 reads every manifest", "tasks/form/source.go", "Parse", "decodeNext", 2},
	{"yaml.v3 reads every manifest", "tasks/form/source.go", "Parse", "yaml.NewDecoder", 1},
	{"yaml.v3 reads every manifest", "tasks/form/source.go", "decodeNext", "dec.Decode", 1},
	{"go-git writes every commit object", "internal/gitops/commit.go", "storeCommit", "store.Encode", 2},
	{"go-git writes every tree object", "internal/gitops/store/tree.go", "write", "Encode", 1},
	{"go-git writes every tree and commit object", "internal/gitops/store/tree.go", "Encode", "o.Encode", 1},
	{"go-git writes every pack that is sent", "internal/gitops/remote/packout.go", "writePack", "packfile.NewEncoder", 1},
	{"zerolog writes the JSON log", "internal/view/json.go", "formatJSON", "zerolog.New", 1},
	{"zerolog writes the JSON log", "internal/view/json.go", "formatJSON", "to.Msg", 1},
}

// TestTheCardsPackagesDoTheWork fails when the program does not call a package of the card for
// what it is there for.
func TestTheCardsPackagesDoTheWork(t *testing.T) {
	all := sources(t)
	for _, row := range card {
		times := 0
		for _, call := range callsOf(all[path.Dir(row.file)][row.file])[row.function] {
			if types.ExprString(call.Fun) == row.call {
				times++
			}
		}
		if times != row.times {
			t.Errorf("%s: the function %s of %s calls %s %d times, not %d", row.does, row.function, row.file, row.call, times, row.times)
		}
	}
}

// around are other ways of doing what the packages of the card do: calls, the first argument of calls, and
// imports. Files may use them for something else.
var around = []struct {
	instead, below string // a directory, or a file; "" is everywhere
	calls, imports string // separated by spaces; an import includes the packages below it
	except         map[string]string
}{
	{
		"openai-go or anthropic-sdk-go", "internal/model",
		"http.NewRequest http.NewRequestWithContext http.Get http.Post http.Head .Do .RoundTrip", "",
		map[string]string{"internal/model/wire/unusable.go": "asks whether a server speaks TLS"},
	},
	{"yaml.v3", "", "", "github.com/goccy/go-yaml go.yaml.in github.com/pb33f/go-yaml sigs.k8s.io/yaml gopkg.in/yaml.v2 github.com/ghodss/yaml", nil},
	{
		"yaml.v3", "tasks", "json.Unmarshal json.NewDecoder hujson.Parse hujson.Standardize", "github.com/tailscale/hujson",
		map[string]string{"tasks/template/event.go": "the event of a CI", "tasks/expand/prompt.go": "JSON Schemas"},
	},
	{
		"object.Commit", "internal/gitops", "plumbing.CommitObject", "",
		map[string]string{"internal/gitops/commit.go": "with object.Commit", "internal/gitops/objectdb/objects.go": "reads commits"},
	},
	{
		"object.Tree", "internal/gitops", "plumbing.TreeObject", "",
		map[string]string{
			"internal/gitops/store/tree.go": "with object.Tree", "internal/gitops/commit.go": "the empty tree", "internal/gitops/objectdb/objects.go": "reads trees",
			"internal/gitops/state/copystates.go": "copies trees",
		},
	},
	{"object.Commit", "", `"commit-tree" "hash-object" "fast-import"`, "", nil},
	{
		"internal/view", "", "", "log",
		map[string]string{"internal/extension/lsp/live.go": "an interface of jsonrpc2"},
	},
	{"zerolog", "internal/view/json.go", "line.WriteString line.Write line.WriteByte fmt.Fprint fmt.Fprintf json.Marshal json.NewEncoder", "", nil},
}

// TestNothingGoesAroundTheCard fails when something else does what a package of the card is there for.
func TestNothingGoesAroundTheCard(t *testing.T) {
	for dir, files := range sources(t) {
		if strings.HasSuffix(dir, "test") || strings.HasPrefix(dir, "internal/testing/e2e") || dir == "internal/dev/house" { // tests
			continue
		}
		for name, file := range files {
			used := called(file)
			for _, way := range around {
				if way.except[name] != "" || way.below != "" && dir != way.below && name != way.below && !strings.HasPrefix(dir, way.below+"/") {
					continue
				}
				for forbidden := range strings.FieldsSeq(way.calls) {
					if used[forbidden] {
						t.Errorf("%s uses %s: it is for %s", name, forbidden, way.instead)
					}
				}
				for forbidden := range strings.FieldsSeq(way.imports) {
					for _, spec := range file.Imports {
						if imported := strings.Trim(spec.Path.Value, `"`); imported == forbidden || strings.HasPrefix(imported, forbidden+"/") {
							t.Errorf("%s imports %s: it is for %s", name, imported, way.instead)
						}
					}
				}
			}
		}
	}
	for _, way := range around {
		for name := range way.except {
			if sources(t)[path.Dir(name)][name] == nil {
				t.Errorf("%s does not exist", name)
			}
		}
	}
}

// called returns the functions that a file calls, by their last two names and their
// last one, and the arguments of calls.
func called(file *ast.File) map[string]bool {
	used := map[string]bool{}
	for call := range slices.Values(slices.Concat(slices.Collect(maps.Values(callsOf(file)))...)) {
		names := strings.Split(types.ExprString(call.Fun), ".")
		used[strings.Join(names[max(0, len(names)-2):], ".")] = true
		used["."+names[len(names)-1]] = true
		for _, arg := range call.Args {
			used[types.ExprString(arg)] = true
		}
	}
	return used
}

// callsOf returns the calls in the functions of a file, and those of its variables as "".
func callsOf(file *ast.File) map[string][]*ast.CallExpr {
	calls := map[string][]*ast.CallExpr{}
	if file == nil {
		return calls
	}
	for _, decl := range file.Decls {
		name := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				calls[name] = append(calls[name], call)
			}
			return true
		})
	}
	return calls
}
