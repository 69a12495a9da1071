package access_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
)

// Every tool with a path argument reads it with the same function.
func TestMistakenPathsAreErrorsOfEveryTool(t *testing.T) {
	s := tooltest.SetUp(t, "full", map[string]string{"src/a.txt": "needle\n", "a.txt": "needle\n"})
	patch := func(name string) tooltest.Args {
		return tooltest.Args{"patchText": "*** Begin Patch\n*** Add File: " + name + "\n+x\n*** End Patch"}
	}
	for name, want := range map[string]string{
		`src\a.txt`:         `path "src\\a.txt" contains a backslash; use "src/a.txt"`,
		"file:///etc/motd":  `use "/etc/motd"`,
		"$HOME/b.txt":       "starts with the variable $HOME, which file tools do not expand; use ~/b.txt",
		`%USERPROFILE%\b`:   "use ~/b",
		"~nobody/b.txt":     "only ~/ at the start of a path is expanded",
		s.Dir + "/~/b.txt":  "only ~/ at the start of a path is expanded",
		`"src/a.txt"`:       `is in quotes; use "src/a.txt"`,
		`C:\Users\me\b.txt`: "is a path of Windows",
	} {
		before := s.Tree()
		for tool, in := range map[string]tooltest.Args{
			"read": {"filePath": name}, "write": {"filePath": name, "content": "x"}, "edit": {"filePath": name, "oldString": "needle", "newString": "x"},
			"apply_patch": patch(name), "list": {"path": name}, "glob": {"pattern": "*", "path": name}, "grep": {"pattern": "needle", "path": name},
			"bash": {"command": "true", "workdir": name},
		} {
			out := s.Call(tool, in)
			if out.Status != tools.Failed || !strings.Contains(out.Text(), want) {
				t.Errorf("%s %s: %s, %s", tool, name, out.Status, out.Text())
			}
		}
		s.Unchanged(before)
	}
	s.Want(s.Call("write", tooltest.Args{"filePath": "a.txt\n", "content": "x"}), tools.Failed, `white space at the start or end of a name; use "a.txt"`)
	s.Want(s.Call("glob", tooltest.Args{"pattern": "$HOME/**/*.toml"}), tools.Failed, "use ~")
}

func TestHomeDirectoryIsThatOfCommands(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a": "x\n"})
	s.Env.ChildEnv = []string{"HOME=" + s.Outside}
	for tool, in := range map[string]tooltest.Args{
		"read": {"filePath": "~/secret"}, "write": {"filePath": "~/new/x", "content": "x"}, "list": {"path": "~"}, "glob": {"pattern": "*", "path": "~/"}, "grep": {"pattern": "x", "path": "~/secret"},
	} {
		s.Want(s.Call(tool, in), tools.Denied, "external_directory")
	}
	s.Want(s.Call("glob", tooltest.Args{"pattern": "~/*.txt"}), tools.Completed, "use path to search another directory")
	s.Allow("external_directory", s.Outside+"/*")
	s.Want(s.Call("write", tooltest.Args{"filePath": "~/new/x", "content": "x"}), tools.Completed, "Created "+s.Outside+"/new/x")
	s.Want(s.Call("read", tooltest.Args{"filePath": "~/new/x"}), tools.Completed, "1: x")
	s.Env.ChildEnv = nil
	s.Want(s.Call("write", tooltest.Args{"filePath": "~/x", "content": "x"}), tools.Failed, "HOME is not set")
	if s.Tree()["~"] != "" || strings.Contains(strings.Join(s.Names(), " "), "~") {
		t.Error("a directory named ~ was made")
	}
}

func TestNamesThatLookTheSameAreTheSameFile(t *testing.T) {
	const composed, decomposed = "caf\u00e9.txt", "cafe\u0301.txt"
	s := tooltest.SetUp(t, "full", map[string]string{decomposed: "old\n", "v\u00a013.txt": "v\n", "two\u00a0": "1\n", "two\u2009": "2\n"})
	s.Want(s.Call("read", tooltest.Args{"filePath": composed}), tools.Completed, "1: old")
	s.Want(s.Call("edit", tooltest.Args{"filePath": composed, "oldString": "old", "newString": "new"}), tools.Completed, "1 replacement")
	s.Want(s.Call("write", tooltest.Args{"filePath": composed, "content": "newer\n"}), tools.Completed, "Replaced "+decomposed)
	s.Want(s.Call("grep", tooltest.Args{"pattern": "newer", "path": composed}), tools.Completed, "Found 1 match")
	s.Want(s.Call("apply_patch", tooltest.Args{"patchText": "*** Begin Patch\n*** Update File: " + composed + "\n@@\n-newer\n+newest\n*** Delete File: v 13.txt\n*** End Patch"}), tools.Completed)
	if got := s.Content(decomposed); got != "newest\n" {
		t.Errorf("content %q", got)
	}
	s.Want(s.Call("read", tooltest.Args{"filePath": "two "}), tools.Failed, `can be "two\u00a0" or "two\u2009"`)
	if got := len(s.Names()); got != 3 {
		t.Errorf("%d files: %q", got, s.Names())
	}
	s.Deny("read", decomposed)
	s.Want(s.Call("read", tooltest.Args{"filePath": composed}), tools.Denied)
}

func TestNamesWithLineFeedsAreOneLine(t *testing.T) {
	const name, shown = "dir\n/a\nb.txt", `"dir\n/a\nb.txt"`
	s := tooltest.SetUp(t, "full", map[string]string{name: "needle\n", "dir\n/bin.dat": "\x00"})
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*.txt"}), tools.Completed, shown+"\n")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "needle"}), tools.Completed, "\n"+shown+":\n  Line 1: needle")
	s.Want(s.Call("list", tooltest.Args{}), tools.Completed, "  \"dir\\n\"/\n    \"a\\nb.txt\"\n")
	s.Want(s.Call("list", tooltest.Args{"path": "dir\n"}), tools.Completed, "\"dir\\n\"/\n")
	s.Want(s.Call("read", tooltest.Args{"filePath": name}), tools.Completed, "<path>"+shown+"</path>", "1: needle")
	s.Want(s.Call("read", tooltest.Args{"filePath": "dir\n"}), tools.Completed, "<path>\"dir\\n\"</path>", "\n\"a\\nb.txt\"\n")
	s.Want(s.Call("read", tooltest.Args{"filePath": "dir\n/bin.dat"}), tools.Failed, `"dir\n/bin.dat" is a binary file`)
	s.Want(s.Call("read", tooltest.Args{"filePath": "dir\n/b.txt"}), tools.Failed, `file not found: "dir\n/b.txt"; did you mean `+shown)
	s.Want(s.Call("edit", tooltest.Args{"filePath": name, "oldString": "thread", "newString": "x"}), tools.Failed, "edit "+shown+": ")
	s.Want(s.Call("edit", tooltest.Args{"filePath": name, "oldString": "needle", "newString": "x"}), tools.Completed, "Edit applied successfully to "+shown+" (1")
	s.Want(s.Call("write", tooltest.Args{"filePath": name, "content": "x\n"}), tools.Completed, shown+" already has")
	s.Want(s.Call("write", tooltest.Args{"filePath": name, "content": "y\n"}), tools.Completed, "Replaced "+shown+": ")
	s.Want(s.Call("edit", tooltest.Args{"filePath": name, "oldString": "", "newString": "x"}), tools.Failed, shown+" already exists")
}
