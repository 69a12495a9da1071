package form

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// entriesOf parses a file, e.yaml, and returns the values of its keys.
func entriesOf(t *testing.T, text string) map[string]Value {
	t.Helper()
	src := &Source{File: problem.File{Name: "e.yaml", Found: problem.NewCollector()}, Dir: "/shop", Home: "/home/ann", Inputs: &Inputs{Ctx: t.Context(), Uses: NewUses()}}
	v, ok := src.Parse([]byte(text))
	if !ok {
		t.Fatal(src.Found.Err())
	}
	all := map[string]Value{}
	entries, _ := v.Entries()
	for _, e := range entries {
		all[e.Key.Value] = e
	}
	return all
}

func TestAnOriginIsThatOfTheAliasAndOfTheKey(t *testing.T) {
	all := entriesOf(t, "a: &x\n  - b\nc:\n  *x\n'e f': {}\n")
	c := all["c"]
	if got := c.Position() + " " + c.RuleSource() + " " + c.SeenFrom(all["a"].Origin); got != "e.yaml:4 e.yaml:3 on line 1" {
		t.Errorf("an alias is at %s", got)
	}
	if other := valueOf(t, "1"); c.SeenFrom(other.Origin) != "at v.yaml:1" {
		t.Errorf("from another file: %s", c.SeenFrom(other.Origin))
	}
	if !c.Named() || all["e f"].Named() {
		t.Error("names are not distinguished")
	}
	c.Problem("what", "fix")
	c.Lacks("key", "add it")
	want := "e.yaml:3:1: missing key \"key\" in \"c\"; add it\ne.yaml:4:3: what; fix\ne.yaml:5:1: invalid name \"e f\"; use letters, digits, _ and -, starting with a letter"
	if got := problemsOf(c); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestKeysThatAMappingDefinesTwice(t *testing.T) {
	v := valueOf(t, "{a: 1, b: 2, a: 3}")
	all, ok := v.Entries()
	if !ok || len(all) != 2 || all[0].Node.Value != "1" {
		t.Errorf("%v, %t", all, ok)
	}
	if want := "v.yaml:1:17: duplicate key \"a\", first defined on line 1; keep one of them"; problemsOf(v) != want {
		t.Errorf("%q, want %q", problemsOf(v), want)
	}
}

func TestMergeKeysAreOverriddenByOwnKeysAndEarlierMappings(t *testing.T) {
	all := entriesOf(t, "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nx: {<<: [*one, *two], a: 0}\n")
	entries, _ := all["x"].Entries()
	var got []string
	for _, e := range entries {
		got = append(got, e.Key.Value+e.Node.Value)
	}
	if want := []string{"b1", "c2", "a0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDefinitionsAreBounded(t *testing.T) {
	v := valueOf(t, "{"+numbered(MaxDefined+1)+"}")
	if all, ok := v.Definitions(); ok || all != nil {
		t.Errorf("%d definitions", len(all))
	}
	if want := `v.yaml:1:4: "x" has more than 100 entries; spread them over several manifests`; problemsOf(v) != want {
		t.Errorf("%q", problemsOf(v))
	}
	if all, ok := valueOf(t, "{"+numbered(MaxDefined)+"}").Definitions(); !ok || len(all) != MaxDefined {
		t.Errorf("%d definitions, %t", len(all), ok)
	}
}

// numbered returns so many entries of a mapping.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("0", i) + ": 1, ")
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func TestHomeIsExpandedAtTheStartOfAPattern(t *testing.T) {
	v := valueOf(t, "1")
	for pattern, want := range map[string]string{"~": "/home/ann", "~/.cache/*": "/home/ann/.cache/*", "$HOME/a": "/home/ann/a", "~b/c": "~b/c", "$HOMES": "$HOMES", "a/~": "a/~"} {
		if got, ok := v.ExpandHome(pattern); !ok || got != want {
			t.Errorf("%s: %q, %t, want %q", pattern, got, ok, want)
		}
	}
	v.Src.Home = ""
	_, home := v.ExpandHome("~/x")
	_, empty := v.ExpandHome("")
	want := "v.yaml:1:1: ~ is the home directory, but HOME is not set; write the path of the directory\nv.yaml:1:1: an empty pattern matches nothing; write \"*\" for everything"
	if home || empty || problemsOf(v) != want {
		t.Errorf("%t, %t, %s", home, empty, problemsOf(v))
	}
}

// bounded returns a value in a file that policies bind.
func bounded(t *testing.T, text string, rules ...policy.Rule) Value {
	t.Helper()
	v := valueOf(t, text)
	v.Src.Policies = policy.Set{{Name: "team.yaml", Rules: rules}}
	return v
}

func TestPoliciesRefuseValuesAtTheirKeys(t *testing.T) {
	deny := policy.Rule{Key: policy.Setup, Source: "team.yaml:3"}
	v := bounded(t, "{a: b}", deny)
	by, refused := v.Src.Policies.Refuses(policy.Setup, "setup")
	if !refused || !v.Refused(policy.Setup, "setup commands", "setup") {
		t.Fatal("not refused")
	}
	if want := "v.yaml:1:1: setup commands not allowed by " + by.By() + "; remove it, or change the policy"; problemsOf(v) != want {
		t.Errorf("%q, want %q", problemsOf(v), want)
	}
	read := false
	field := Bounded(policy.Setup, Field{Read: func(Value) { read = true }})
	if field.Read(bounded(t, "[b]", deny)); read {
		t.Error("what is refused is read")
	}
	if field.Read(bounded(t, "[]", deny)); !read {
		t.Error("an empty list is refused")
	}
	if _, fix := Refusal("x", policy.Rule{Source: policy.Untrusted}); fix != "remove it, or run the manifest without --untrusted if you trust its author" {
		t.Errorf("of an untrusted manifest: %q", fix)
	}
	if _, fix := Refusal("x", policy.Rule{Fix: "ask the team"}); fix != "ask the team" {
		t.Errorf("of a rule with a fix: %q", fix)
	}
	if v := bounded(t, "{a: b}"); !v.RefusedKeySource("the program pass", "pass") || !strings.Contains(problemsOf(v), "list it under key_sources in the policy") {
		t.Errorf("a source of keys that no policy lists: %q", problemsOf(v))
	}
}

func TestUsesRecordWhatAnotherMachineCannotHave(t *testing.T) {
	v := valueOf(t, "1")
	u := v.Uses()
	u.Named(v, "/shop/a.md", "a.md")
	u.Named(v, "/etc/b.md", "/etc/b.md")
	u.Tree(v, "/shop/skills", "skills")
	u.Tree(v, "/usr/share", "/usr/share")
	u.Program(v, "/usr/bin/jq", "/usr/bin/jq")
	u.Program(v, "/shop/bin/x", "bin/x")
	u.Command(v, "cat /shop/secret")
	u.Command(v, "cat README.md")
	u.Key(v, "key.txt")
	u.Key(v, "/run/secrets/key")
	u.KeyCommand(v, []string{"pass", "show", "x"})
	getenv := u.Recording(func(name string) string { return map[string]string{"SET": "x"}[name] })
	getenv("SET")
	getenv("UNSET")
	u.Variable("LATER")
	if want := map[string]bool{"SET": true, "UNSET": false, "LATER": false}; len(u.Variables) != 3 || u.Variables["SET"] != want["SET"] || u.Variables["UNSET"] {
		t.Errorf("variables %v", u.Variables)
	}
	if !u.Files["/shop/a.md"] || !u.Files["/etc/b.md"] || !u.Files["/shop/bin/x"] || !u.Trees["/shop/skills"] || len(u.Trees) != 1 || !u.Programs["/usr/bin/jq"] || len(u.Programs) != 1 {
		t.Errorf("files %v, trees %v, programs %v", u.Files, u.Trees, u.Programs)
	}
	want := []string{
		`"/etc/b.md" is an absolute path, which workers may not have`,
		`"x" contains an absolute path, which workers may not have: "/shop/..."`,
		`"x" uses the file "key.txt" of this machine, and secrets are not sent to workers`,
	}
	var got []string
	for _, p := range u.Fixed {
		got = append(got, p.What)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	u.Places["job a"] = v
	if p, other := u.At("job a", "what", "fix"), u.At("job b", "what", "fix"); p.File != "v.yaml" || p.Line != 1 || other.File != "job b" || other.Line != 0 {
		t.Errorf("%v, %v", p, other)
	}
}

func TestOfAQueuedPlanOnlyInputsAreRead(t *testing.T) {
	v := valueOf(t, "1")
	v.Uses().Root = "/shop"
	if v.Outside("/shop/a", "a") || !v.Outside("/etc/passwd", "../etc/passwd") || v.Outside("/etc/passwd", "/etc/passwd") {
		t.Error("other paths are refused")
	}
	if want := `v.yaml:1:4: "../etc/passwd" is not an input of the run; submit the run again`; problemsOf(v) != want {
		t.Errorf("%q", problemsOf(v))
	}
	var none *Uses
	none.Reads("a")
	none.Listed(nil)
	if none.Beyond("/x") {
		t.Error("without a record, a path is beyond it")
	}
}

func TestCharactersHaveTheirPositionInTheFile(t *testing.T) {
	for text, want := range map[string]position{
		"ab cd":             {1, 7},
		"'ab ''cd'":         {1, 10},
		`"ab \"cd"`:         {1, 10},
		"|\n  ab\n  cd":     {3, 3},
		">-\n  ab\n\n   cd": {4, 4},
		`"\x61b cd"`:        {1, 4},
	} {
		v := valueOf(t, text)
		got := Text{v, v.Node.Value}.PositionOf(strings.Index(v.Node.Value, "c"))
		if got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The built-in policy of manifests that are not trusted leaves them their repository, without what may hold secrets.
func TestUntrustedManifestsReadTheirRepositoryOnly(t *testing.T) {
	top := userfile.Real(t.TempDir())
	for _, dir := range []string{".git", "docs/.millhand", "src"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(top, "out")); err != nil {
		t.Fatal(err)
	}
	all := policy.Set{policy.ForUntrusted(nil)}
	for path, refused := range map[string]bool{
		"": false, "src": false, "src/new.md": false, "src/../README": false, ".git": true, ".git/config": true, ".GIT/config": true, "docs/.millhand/runs": true,
		"..": true, "../x": true, "out": true, "out/passwd": true, "/etc/passwd": true, ".gitignore": false,
	} {
		if by, got := RefusedPath(all.InRepository(top), top, path); got != refused || got && by.Source != policy.Untrusted {
			t.Errorf("%q: refused %t by %+v", path, got, by)
		}
		if _, got := RefusedPath(all.InRepository(""), top, path); !got {
			t.Errorf("%q: allowed without a repository", path)
		}
		if _, got := RefusedPath(nil, top, path); got {
			t.Errorf("%q: refused without a policy", path)
		}
	}
	if err := os.Symlink(filepath.Join(top, "src", "later"), filepath.Join(top, "dangling")); err != nil {
		t.Fatal(err)
	}
	if _, got := RefusedPath(all.InRepository(top), top, "dangling"); !got {
		t.Error("a symlink to what may appear is allowed")
	}
	v := valueOf(t, "../x")
	v.Src.Dir, v.Src.Policies = top, all.InRepository(top)
	if _, _, ok := v.Existing(); ok || !strings.HasPrefix(problemsOf(v), `v.yaml:1:1: the path "../x" not allowed by `) {
		t.Errorf("%t, %s", ok, problemsOf(v))
	}
	if v.MarkdownFile("../x.md") != nil || v.MarkdownFile("src/x.md") == nil {
		t.Error("files are not distinguished")
	}
	text, _ := v.Filled()
	if _, ok := text.Search("pattern", "../*", pathglob.Search{Files: true, Limit: 9}); ok {
		t.Error("a directory outside of the repository is searched")
	}
}

func TestASearchIsBounded(t *testing.T) {
	v := valueOf(t, "'**'")
	v.Src.Dir = userfile.Real(t.TempDir())
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(v.Src.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := v.Filled()
	if _, ok := text.Search("pattern", text.S, pathglob.Search{Files: true, Limit: 2}); ok || problemsOf(v) != `v.yaml:1:4: pattern "**" matches more than 2 files and directories; start it with a directory, or use fewer **` {
		t.Errorf("%t, %s", ok, problemsOf(v))
	}
}

func TestVariablesHaveTheirPositionInTheFile(t *testing.T) {
	for text, want := range map[string][]position{
		"a":                             nil,
		"a ${{ b }} ${{ c }}":           {{1, 6}, {1, 15}},
		"'é ${{ b }}'":                  {{1, 7}},
		"|\n  ${{ b }}\n\n  x ${{ c }}": {{2, 3}, {4, 5}},
		">-\n  x\n  ${{ b }}":           {{3, 3}},
		`"\x24{{ b }} ${{ c }}"`:        {{1, 17}, {1, 4}}, // the first is escaped: the count is one short
		"${{ a }}\ny: ${{ other }}":     {{1, 4}},
	} {
		v := entriesOf(t, "x: "+text+"\n")["x"]
		if got := (Text{v, v.Node.Value}).Openings(); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestSubdirectoriesWithAgentsAreNotedUnlessNamed(t *testing.T) {
	s := &Source{File: problem.File{Found: problem.NewCollector()}, Entered: []string{"/shop/agents", "/shop/other/sub"}}
	s.Passed = []PassedOver{{"/shop/agents/more", "more is ignored"}, {"/shop/other/sub", "sub is ignored"}, {"/shop/other", "other is ignored"}}
	if s.NotePassedOver(); !slices.Equal(s.Found.Notes, []string{"more is ignored"}) {
		t.Errorf("%q", s.Found.Notes)
	}
}

// What is next to the manifest is sent to workers; a secret is not, and absolute paths of the system are the worker's own.
func TestUsesDistinguishTheManifestFromTheSystem(t *testing.T) {
	v := valueOf(t, "1")
	v.Src.Dir = userfile.Real(t.TempDir())
	at := func(name string) string { return filepath.Join(v.Src.Dir, name) }
	if err := os.WriteFile(at("key.txt"), []byte("k"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		use   func(u *Uses)
		fixed string // "" if another machine can have it
	}{
		"a tree next to it, absolute":    {func(u *Uses) { u.Tree(v, at("skills"), at("skills")) }, "is an absolute path"},
		"a program next to it, absolute": {func(u *Uses) { u.Program(v, at("tool"), at("tool")) }, "is an absolute path"},
		"a program of the system":        {func(u *Uses) { u.Program(v, "/usr/bin/jq", "/usr/bin/jq") }, ""},
		"a key next to it, absolute":     {func(u *Uses) { u.Key(v, at("key.txt")) }, "secrets are not sent to workers"},
		"a program that prints a key":    {func(u *Uses) { u.KeyCommand(v, []string{"./print-key"}) }, "secrets are not sent to workers"},
		"a file with a key":              {func(u *Uses) { u.KeyCommand(v, []string{"cat", "key.txt"}) }, "secrets are not sent to workers"},
		"a word that is no file":         {func(u *Uses) { u.KeyCommand(v, []string{"pass", "show", "key"}) }, ""},
		"a command with its directory":   {func(u *Uses) { u.Command(v, "cat "+at("a")) }, "contains an absolute path"},
	} {
		u := NewUses()
		c.use(u)
		if fixed := len(u.Fixed) == 1; len(u.Fixed) > 1 || fixed != (c.fixed != "") || fixed && !strings.Contains(u.Fixed[0].What, c.fixed) {
			t.Errorf("%s: %v, want %q", name, u.Fixed, c.fixed)
		}
		var none *Uses // of a load that belongs to no plan
		c.use(none)
	}
	u := NewUses()
	list := []byte("a\n")
	u.Listed(list)
	if list[0] = 'b'; string(u.List) != "a\n" {
		t.Errorf("the list %q is not a copy", u.List)
	}
	var none *Uses
	none.Variable("A")
	if p := none.At("job a", "what", "fix"); p.File != "job a" || p.What != "what" {
		t.Errorf("%v", p)
	}
}
