package patterns

import (
	"strings"
	"testing"
)

// shapes returns the shapes of a block, whose versions are separated by "=>".
func shapes(file, change string) string {
	old, after, _ := strings.Cut(change, "=>")
	b := &block{old: strings.Split(strings.Trim(old, "\n"), "\n"), new: strings.Split(strings.Trim(after, "\n"), "\n")}
	if strings.TrimSpace(old) == "" {
		b.old = nil
	}
	if strings.TrimSpace(after) == "" {
		b.new = nil
	}
	f, i := familyOf(file), imported{}
	var all []string
	for _, e := range append(b.edits(f, &i), i.edits(f)...) {
		all = append(all, e.text)
	}
	return strings.Join(all, "; ")
}

func TestShapes(t *testing.T) {
	for _, tt := range []struct{ file, change, want string }{
		{"a.go", "\tb, err := ioutil.ReadFile(p)\n=>\n\tb, err := os.ReadFile(p)", "ioutil.ReadFile → os.ReadFile"},
		{"a.go", "\tdata, e := client.Get(ctx, id)\n=>\n\tdata, e := client.Fetch(ctx, id)", "$1.Get → $1.Fetch"},
		{"a.go", "\tx := s.Get(a)\n=>\n\tx := s.Get(a, b)", "Get(… + , b"},
		{"a.go", "\tif err != nil {\n=>\n\tif err == nil {", "if … != → =="},
		{"a.go", "\tf(a, b)\n=>\n\tf(b, a)", "f(… − a,; f(… + , a"},
		{"a.go", "\tx, err := f()\n=>\n\tx, _ := f()", "$1 → _"},
		{"a.go", "\tios.WriteFile(n, b, 0644)\n=>\n\tios.WriteFile(n, b, 0600)", "WriteFile(… 0o644 → 0o600"},
		{"a.go", "\tWriteFile(n, b, 0644)\n=>\n\tWriteFile(n, b, 0o644)", "white space or spelling only"},
		{"a.go", "\tfiles := x()\n=>\n\tentries := x()", "files → entries"},
		{"a.go", "\tx() // one\n=>\n\tx() // two", "comment → comment"},
		{"a.go", "=>\n\t// one\n\t// two\n\tdefer f.Close()", "+ comment defer f.Close()"},
		{"a.go", "\tx()\n=>\n\tx() //nolint:errcheck // later", "+ //nolint:errcheck // later"},
		{"a.go", "\tx(a)\n=>\n\tx(  a)", "white space or spelling only"},
		{"a.go", "\t\"os\"\n\t\"io/ioutil\"\n=>\n\t\"io\"\n\t\"os\"", `import: + "io"; import: − "io/ioutil"`},
		{"a.go", "\t\"os\"\n\t\"io\"\n=>\n\t\"io\"\n\t\"os\"", "order of imports only"},
		{"a.go", "\ta(\"x\")\n=>\n\ta(\"y\")", `a(… "x" → "y"`},
		{"a.py", "    if x:\n        return 1\n=>\n    if x:\n    return 1", "⇥4 → ⇥0"},
		{"b.py", "        if x:\n            return 1\n=>\n        if x:\n        return 1", "⇥4 → ⇥0"},
		{"a.py", "    get(u, verify=True)\n=>\n    get(u, verify=False)", "get(… True → False"},
		{"a.json", `    "left-pad": "^1.2.0",` + "\n=>\n" + `    "left-pad": "^2.0.0",`, `"left-pad" … version → "^2.0.0"`},
		{"go.mod", "\texample.com/a v1.2.3\n=>\n\texample.com/a v1.4.0-rc.1", "example.com/a … version → v1.4.0-rc.1"},
		{"a.yaml", "    replicas: 2\n=>\n    replicas: 3", "replicas … 2 → 3"},
		{"a.md", "The old word.\n=>\nThe new word.", "old → new"},
		{"a.go", "\ta()\n\tb()\n\tc()\n=>\n\tfor i := range n {\n\t\tx(i)\n\t}", "a() b() c() → for $1 := range $2 { x($1) }"},
	} {
		if got := shapes(tt.file, tt.change); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.file, tt.change, got, tt.want)
		}
	}
}

// Names of variables do not matter, and what is done to them does.
func TestNamesOfVariablesDoNotMatterToShapes(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		equal bool
	}{
		{"=>\n\tif x != nil {\n\t\treturn x\n\t}", "=>\n\tif err != nil {\n\t\treturn err\n\t}", true},
		{"=>\n\tif x != nil {\n\t\treturn x\n\t}", "=>\n\tif err != nil {\n\t\treturn data\n\t}", false},
		{"=>\n\tif x != nil {\n\t\treturn x\n\t}", "=>\n\tif x != nil {\n\t\treturn nil\n\t}", false},
		{"\ta := v.Old(1)\n=>\n\ta := v.New(1)", "\tr = w.Old(2)\n=>\n\tr = w.New(2)", true},
		{"\ta := v.Old(1)\n=>\n\ta := v.New(1)", "\ta := v.Old(1)\n=>\n\ta := w.New(1)", false},
		{"\ta(x)\n=>\n\tb(x)", "\ta(y)\n=>\n\tc(y)", false},
	} {
		a, b := shapes("a.go", tt.a), shapes("a.go", tt.b)
		if (a == b) != tt.equal {
			t.Errorf("%s\n%s", a, b)
		}
	}
}

// A block that is too large to be compared token by token is one edit.
func TestABlockThatIsTooLargeIsOneEdit(t *testing.T) {
	row := strings.Repeat("f(1) ", 2000)
	if got := shapes("a.go", "old "+row+"old\n=>\nnew "+strings.Repeat("g(1) ", 2000)+"new"); strings.Contains(got, ";") || len(got) > maxShape+10 {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}
