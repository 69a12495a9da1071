package testcases

import (
	"slices"
	"strings"
	"testing"
)

const three = "package a\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n\nfunc TestC(t *testing.T) {}\n"

func TestLosses(t *testing.T) {
	const absent = "\x00"
	two := strings.Replace(three, "func TestB(t *testing.T) {}\n\n", "", 1)
	onlyB := "package b\n\nfunc TestB(t *testing.T) {}\n"
	skipping := strings.Replace(three, "{}", "{ t.Skip() }", 1)
	for name, c := range map[string]struct {
		files [][3]string // path, before, after
		want  string      // losses, one per line
	}{
		"unchanged":                   {[][3]string{{"a_test.go", three, three}}, ""},
		"source deleted":              {[][3]string{{"a.go", three, absent}}, ""},
		"deleted":                     {[][3]string{{"a_test.go", three, absent}}, "a_test.go: test file deleted, with 3 test cases: TestA, TestB, TestC"},
		"deleted without cases":       {[][3]string{{"tests/run.sh", "x", absent}}, "tests/run.sh: test file deleted"},
		"emptied":                     {[][3]string{{"tests/run.sh", "x", " \n"}}, "tests/run.sh: test file emptied"},
		"emptied of cases":            {[][3]string{{"a_test.go", three, "package a\n"}}, "a_test.go: 3 test cases removed: TestA, TestB, TestC"},
		"case removed":                {[][3]string{{"a_test.go", three, two}}, "a_test.go: 1 test case removed: TestB"},
		"case commented out":          {[][3]string{{"a_test.go", three, strings.Replace(three, "func TestB", "// func TestB", 1)}}, "a_test.go: 1 test case removed: TestB"},
		"case renamed":                {[][3]string{{"a_test.go", three, strings.Replace(three, "TestB", "TestOther", 1)}}, ""},
		"not available any more":      {[][3]string{{"a_test.go", three, "nil"}}, "a_test.go: 3 test cases removed: TestA, TestB, TestC"},
		"too large to be counted":     {[][3]string{{"a_test.go", three, three + strings.Repeat("\n", maxText)}}, "a_test.go: 3 test cases removed: TestA, TestB, TestC"},
		"data not available any more": {[][3]string{{"testdata/a.bin", "x", "nil"}}, ""},
		"file renamed":                {[][3]string{{"a_test.go", three, absent}, {"b/c_test.go", absent, three}}, ""},
		"data renamed":                {[][3]string{{"testdata/a.json", "{}", absent}, {"testdata/b.json", absent, "{}"}}, ""},
		"data merged":                 {[][3]string{{"testdata/a.json", "{}", absent}, {"testdata/b.json", "{}", absent}, {"testdata/c.json", absent, "{}"}}, "testdata/b.json: test file deleted"},
		"renamed to no test":          {[][3]string{{"a_test.go", three, absent}, {"a_test.go.off", absent, three}}, "a_test.go: test file deleted, with 3 test cases: TestA, TestB, TestC"},
		"renamed to another kind":     {[][3]string{{"a_test.go", three, absent}, {"testdata/a.txt", absent, three}}, "a_test.go: test file deleted, with 3 test cases: TestA, TestB, TestC"},
		"renamed to vendor":           {[][3]string{{"a_test.go", three, absent}, {"vendor/a_test.go", absent, three}}, "a_test.go: test file deleted, with 3 test cases: TestA, TestB, TestC"},
		"case moved":                  {[][3]string{{"a_test.go", three, two}, {"b_test.go", absent, onlyB}}, ""},
		"case moved to old file":      {[][3]string{{"a_test.go", three, two}, {"b_test.go", "package b\n", onlyB}}, ""},
		"others added":                {[][3]string{{"a_test.go", three, absent}, {"b_test.go", absent, strings.NewReplacer("TestA", "TestX", "TestC", "TestY").Replace(three)}}, "a_test.go: test file deleted, with 2 test cases: TestA, TestC"},
		"moved once":                  {[][3]string{{"a_test.go", onlyB, absent}, {"b_test.go", onlyB, absent}, {"c_test.go", absent, onlyB}}, "b_test.go: test file deleted, with 1 test case: TestB"},
		"moved into a renamed case":   {[][3]string{{"a_test.go", strings.Replace(onlyB, "TestB", "TestA", 1), onlyB}, {"b_test.go", onlyB, absent}}, "b_test.go: test file deleted, with 1 test case: TestB"},
		"skip added":                  {[][3]string{{"a_test.go", three, skipping}}, "a_test.go: 1 skip marker added"},
		"skip removed":                {[][3]string{{"a_test.go", skipping, three}}, ""},
		"new file with skip":          {[][3]string{{"a_test.go", absent, skipping}}, ""},
		"moved with its skip":         {[][3]string{{"a_test.go", skipping, absent}, {"b_test.go", absent, skipping}}, ""},
		"moved and skipped":           {[][3]string{{"a_test.go", three, absent}, {"b_test.go", absent, skipping}}, "b_test.go: 1 skip marker added"},
		"removed and skipped":         {[][3]string{{"a_test.go", three, strings.Replace(two, "{}", "{ t.Skip() }", 1)}}, "a_test.go: 1 test case removed: TestB\na_test.go: 1 skip marker added"},
		"rust":                        {[][3]string{{"src/a.rs", "#[test]\nfn one() {}\n", "fn two() {}\n"}}, "src/a.rs: 1 test case removed: one"},
		"rust without tests":          {[][3]string{{"src/a.rs", "fn one() {}\n", absent}}, ""},
		"many names":                  {[][3]string{{"a.test.js", strings.Repeat("it('"+strings.Repeat("long ", 30)+"', f);\n", 9), absent}}, "a.test.js: test file deleted, with 9 test cases: " + strings.Repeat(strings.Repeat("long ", 16)+"…, ", 5) + "and 4 more"},
	} {
		var files []File
		for _, f := range c.files {
			read := func(text string) *Version {
				switch text {
				case absent:
					return nil
				case "nil":
					return Read(f[0], nil)
				}
				return Read(f[0], []byte(text))
			}
			files = append(files, File{f[0], read(f[1]), read(f[2])})
		}
		var got []string
		for _, l := range Losses(files) {
			got = append(got, l.Path+": "+l.What)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), c.want)
		}
		slices.Reverse(files)
		if again := Losses(files); len(again) != len(got) {
			t.Errorf("%s: %d losses, %d in reverse", name, len(got), len(again))
		}
	}
}

// FuzzCases checks what holds for every text.
func FuzzCases(f *testing.F) {
	for _, s := range snippets {
		f.Add(s.file, s.text)
	}
	for _, s := range []string{"/*", "`", "'", "\"\\", "r#\"", "'''", "/* /* */", "\n=begin\n", "it('", "#[test]", "@Test", "it(\"a\nb"} {
		for _, l := range languages() {
			f.Add("tests/a."+strings.Fields(l.extensions)[0], s)
		}
	}
	f.Fuzz(func(t *testing.T, file, text string) {
		v := Read(file, []byte(text))
		l := languageOf(file)
		if l == nil {
			return
		}
		code := l.lexis.mask(text)
		if len(code) != len(text) || strings.Count(code, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q is masked as %q", text, code)
		}
		same := Read(file, []byte(text))
		if got := Losses([]File{{file, v, same}}); len(got) > 0 {
			t.Fatalf("unchanged: %v", got)
		}
		copied := "tests/copy." + strings.Fields(l.extensions)[0]
		if l.names != nil {
			copied = "tests/copy_test." + strings.Fields(l.extensions)[0]
		}
		if strings.HasSuffix(copied, "."+strings.TrimPrefix(file[strings.LastIndexByte(file, '.'):], ".")) && IsTest(file) && file != copied {
			if got := Losses([]File{{file, v, nil}, {copied, nil, Read(copied, []byte(text))}}); len(got) > 0 {
				t.Fatalf("renamed: %v", got)
			}
		}
		if got := Losses([]File{{file, v, nil}}); len(v.cases) > 0 && len(got) != 1 {
			t.Fatalf("deleted: %v", got)
		}
		comment := l.lexis.line[0] + " "
		lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
		for i := range lines {
			lines[i] = comment + lines[i]
		}
		if got := Read(file, []byte(strings.Join(lines, "\n"))); len(got.cases) > 0 {
			t.Fatalf("cases in comments: %q", got.cases)
		}
	})
}
