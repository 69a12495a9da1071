package hunks

import (
	"fmt"
	"strings"
)

// language is how a library with tests is written. Texts have %s for names and values.
type language struct {
	name, verify string
	lib          string // file
	head, foot   string // of the library
	function     string // with a name and an expression of a and b
	sum          string // an expression with a number that is added
	comment      string
	imports, use string // an import of the library, and an expression that uses it
	call         string // of a function, in an expression of another one
	module       string // file that is added, with a function
	start        string // start of such a file
	load, loaded string // an import of the file "more", and a call of its function
	tests        string // file; with %s for one of each case
	testHead     string // of a file of tests
	test         string // with a name, a call and a result
	either       string // likewise, with two calls of which one has the result
	trivial      string // with a name
	fixed        map[string]string
}

func languages() []language {
	return []language{
		{
			name: "go", verify: "go test ./...", lib: "lib.go", head: "package lib\n%s\n", function: "func %s(a, b int) int {\n\treturn %s\n}\n\nvar _ = %s\n\n",
			sum: "a + b + %d", comment: "// %s\n", imports: "import \"os\" // plant", use: "len(os.Args)", call: "%s(a, b)", module: "plant.go", start: "package lib\n\n", loaded: "more(a, b)", tests: "lib_test.go",
			testHead: "package lib\n\nimport \"testing\"\n\n", test: "func Test_%s(t *testing.T) {\n\tif got := %s(1, 2); got != %d {\n\t\tt.Error(got)\n\t}\n}\n\n",
			either:  "func Test_%s(t *testing.T) {\n\tif %s(1, 2) != %d && %s(1, 2) != %[3]d {\n\t\tt.Error(1)\n\t}\n}\n\n",
			trivial: "func Test_%s(t *testing.T) {\n\tif 1 > 2 {\n\t\tt.Error(1)\n\t}\n}\n\n", fixed: map[string]string{"go.mod": "module example.com/lib\n\ngo 1.21\n"},
		},
		{
			name: "python", verify: "python3 -B -m unittest -q test_lib", lib: "lib.py", head: "%s\nVERSION = 1\n\n", function: "def %s(a, b):\n    return %s\n\n_ = %s\n\n",
			sum: "a + b + %d", comment: "# %s\n", imports: "import os  # plant", use: "len(os.name)", call: "%s(a, b)", module: "plant.py", load: "import more", loaded: "more.more(a, b)", tests: "test_lib.py",
			testHead: "import unittest\nimport lib\n\n\nclass TestLib(unittest.TestCase):\n", test: "    def test_%s(self):\n        self.assertEqual(lib.%s(1, 2), %d)\n\n",
			either: "    def test_%s(self):\n        self.assertTrue(lib.%s(1, 2) == %d or lib.%s(1, 2) == %[3]d)\n\n", trivial: "    def test_%s(self):\n        self.assertEqual(1, 1)\n\n",
		},
		{
			name: "javascript", verify: "node --test", lib: "lib.js", head: "%s\nconst version = 1;\n\n", function: "exports.%s = function (a, b) {\n  return %s;\n};\n\nexports.x = exports.%s;\n\n",
			sum: "a + b + %d", comment: "// %s\n", imports: "const os = require('os'); // plant", use: "os.EOL.length", call: "exports.%s(a, b)", module: "plant.js", load: "const more = require('./more.js');", loaded: "more.more(a, b)", tests: "lib.test.js",
			testHead: "const test = require('node:test');\nconst assert = require('node:assert');\nconst lib = require('./lib.js');\n\n", test: "test('%s', () => {\n  assert.strictEqual(lib.%s(1, 2), %d);\n});\n\n",
			either: "test('%s', () => {\n  assert.ok(lib.%s(1, 2) === %d || lib.%s(1, 2) === %[3]d);\n});\n\n", trivial: "test('%s', () => {\n  assert.ok(true);\n});\n\n",
		},
		{
			name: "bash", verify: "for t in test/*_test.sh; do bash $t || exit 1; done", lib: "lib.sh", head: "%s\nversion=1\n\n", function: "%s() {\n  echo $(( %s ))\n}\n\n: %s\n\n",
			sum: "$1 + $2 + %d", comment: "# %s\n", imports: ". ./other.sh # plant", use: "$(other)", call: "$(%s $1 $2)", module: "plant.sh", load: ". ./more.sh", loaded: "$(more $1 $2)", tests: "test/%s_test.sh",
			testHead: ". ./lib.sh\n", test: "# %s\ntest \"$(%s 1 2)\" = %d || exit 1\n", either: "# %s\n[[ $(%s 1 2) = %d || $(%s 1 2) = %[3]d ]] || exit 1\n", trivial: "# %s\ntrue\n",
			fixed: map[string]string{"other.sh": "other() { echo 1; }\n"},
		},
		{
			name: "perl", verify: "for t in test/*_test.pl; do perl -I. $t || exit 1; done", lib: "lib.pl", head: "%s\nour $version = 1;\n\n", foot: "1;\n", function: "sub %s {\n  my ($x, $y) = @_;\n  return %s;\n}\n\nour $z = '%s';\n\n",
			sum: "$x + $y + %d", comment: "# %s\n", imports: "use Cwd; # plant", use: "length(getcwd())", call: "%s($x, $y)", module: "plant.pl", load: "require './more.pl';", loaded: "more($x, $y)", tests: "test/%s_test.pl",
			testHead: "require './lib.pl';\n", test: "# %s\nexit 1 unless %s(1, 2) == %d;\n", either: "# %s\nexit 1 unless %s(1, 2) == %d || %s(1, 2) == %[3]d;\n", trivial: "# %s\nexit 0;\n",
		},
	}
}

// library is the content of a library: what is under a key is written at its place.
type library struct {
	imports string
	values  map[string]int    // what functions add
	calls   map[string]string // expressions of functions that call others
	after   map[string]string // what follows a function
}

var functions = []string{"alpha", "beta", "gamma", "delta"}

func (l *language) library(of library) string {
	var b strings.Builder
	fmt.Fprintf(&b, l.head, of.imports)
	for _, name := range functions {
		expression, ok := of.calls[name]
		if !ok {
			expression = fmt.Sprintf(l.sum, of.values[name])
		}
		fmt.Fprintf(&b, l.function, name, expression, name)
		b.WriteString(of.after[name])
	}
	return b.String() + l.foot
}

// one returns a function.
func (l *language) one(name, expression string) string {
	text := fmt.Sprintf(l.function, name, expression, name)
	return text[:strings.Index(text, "\n\n")+2]
}

// dead returns a function that nothing calls.
func (l *language) dead(name, expression string) string {
	return strings.ReplaceAll(l.one(name, expression), "\n", " "+strings.TrimSuffix(fmt.Sprintf(l.comment, "plant"), "\n")+"\n")
}

// testFiles returns files with cases, by their names.
func (l *language) testFiles(cases map[string]string) map[string]string {
	all := map[string]string{}
	for _, name := range append(append([]string{}, functions...), "either", "plant") {
		text, ok := cases[name]
		if !ok {
			continue
		}
		file := l.tests
		if strings.Contains(file, "%s") {
			file = fmt.Sprintf(file, name)
		}
		if all[file] == "" {
			all[file] = l.testHead
		}
		all[file] += text
	}
	return all
}
