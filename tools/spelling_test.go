package tools

import (
	"strings"
	"testing"
)

// Every tool with a path argument reads it with the same function.
func TestMistakenPathsAreErrorsOfEveryTool(t *testing.T) {
	s := setUp(t, "full", map[string]string{"src/a.txt": "needle\n", "a.txt": "needle\n"})
	patch := func(name string) args {
		return args{"patchText": "*** Begin Patch\n*** Add File: " + name + "\n+x\n*** End Patch"}
	}
	for name, want := range map[string]string{
		`src\a.txt`:         `path "src\\a.txt" contains a backslash; use "src/a.txt"`,
		"file:///etc/motd":  `use "/etc/motd"`,
		"$HOME/b.txt":       "starts with the variable $HOME, which file tools do not expand; use ~/b.txt",
		`%USERPROFILE%\b`:   "use ~/b",
		"~nobody/b.txt":     "only ~/ at the start of a path is expanded",
		s.dir + "/~/b.txt":  "only ~/ at the start of a path is expanded",
		`"src/a.txt"`:       `is in quotes; use "src/a.txt"`,
		`C:\Users\me\b.txt`: "is a path of Windows",
	} {
		before := s.tree()
		for tool, in := range map[string]args{
			"read": {"filePath": name}, "write": {"filePath": name, "content": "x"}, "edit": {"filePath": name, "oldString": "needle", "newString": "x"},
			"apply_patch": patch(name), "list": {"path": name}, "glob": {"pattern": "*", "path": name}, "grep": {"pattern": "needle", "path": name},
			"bash": {"command": "true", "workdir": name},
		} {
			out := s.call(tool, in)
			if out.Status != Failed || !strings.Contains(out.Text(), want) {
				t.Errorf("%s %s: %s, %s", tool, name, out.Status, out.Text())
			}
		}
		s.unchanged(before)
	}
	s.want(s.call("write", args{"filePath": "a.txt\n", "content": "x"}), Failed, `white space at the start or end of a name; use "a.txt"`)
	s.want(s.call("glob", args{"pattern": "$HOME/**/*.toml"}), Failed, "use ~")
}

func TestHomeDirectoryIsThatOfCommands(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a": "x\n"})
	s.env.ChildEnv = []string{"HOME=" + s.outside}
	for tool, in := range map[string]args{
		"read": {"filePath": "~/secret"}, "write": {"filePath": "~/new/x", "content": "x"}, "list": {"path": "~"}, "glob": {"pattern": "*", "path": "~/"}, "grep": {"pattern": "x", "path": "~/secret"},
	} {
		s.want(s.call(tool, in), Denied, "external_directory")
	}
	s.want(s.call("glob", args{"pattern": "~/*.txt"}), Completed, "use path to search another directory")
	s.allow("external_directory", s.outside+"/*")
	s.want(s.call("write", args{"filePath": "~/new/x", "content": "x"}), Completed, "Created "+s.outside+"/new/x")
	s.want(s.call("read", args{"filePath": "~/new/x"}), Completed, "1: x")
	s.env.ChildEnv = nil
	s.want(s.call("write", args{"filePath": "~/x", "content": "x"}), Failed, "HOME is not set")
	if s.tree()["~"] != "" || strings.Contains(strings.Join(s.names(), " "), "~") {
		t.Error("a directory named ~ was made")
	}
}

func TestNamesThatLookTheSameAreTheSameFile(t *testing.T) {
	const composed, decomposed = "caf\u00e9.txt", "cafe\u0301.txt"
	s := setUp(t, "full", map[string]string{decomposed: "old\n", "v\u00a013.txt": "v\n", "two\u00a0": "1\n", "two\u2009": "2\n"})
	s.want(s.call("read", args{"filePath": composed}), Completed, "1: old")
	s.want(s.call("edit", args{"filePath": composed, "oldString": "old", "newString": "new"}), Completed, "1 replacement")
	s.want(s.call("write", args{"filePath": composed, "content": "newer\n"}), Completed, "Replaced "+decomposed)
	s.want(s.call("grep", args{"pattern": "newer", "path": composed}), Completed, "Found 1 match")
	s.want(s.call("apply_patch", args{"patchText": "*** Begin Patch\n*** Update File: " + composed + "\n@@\n-newer\n+newest\n*** Delete File: v 13.txt\n*** End Patch"}), Completed)
	if got := s.content(decomposed); got != "newest\n" {
		t.Errorf("content %q", got)
	}
	s.want(s.call("read", args{"filePath": "two "}), Failed, `can be "two\u00a0" or "two\u2009"`)
	if got := len(s.names()); got != 3 {
		t.Errorf("%d files: %q", got, s.names())
	}
	s.deny("read", decomposed)
	s.want(s.call("read", args{"filePath": composed}), Denied)
}

func TestNamesWithLineFeedsAreOneLine(t *testing.T) {
	const name, shown = "dir\n/a\nb.txt", `"dir\n/a\nb.txt"`
	s := setUp(t, "full", map[string]string{name: "needle\n", "dir\n/bin.dat": "\x00"})
	s.want(s.call("glob", args{"pattern": "*.txt"}), Completed, shown+"\n")
	s.want(s.call("grep", args{"pattern": "needle"}), Completed, "\n"+shown+":\n  Line 1: needle")
	s.want(s.call("list", args{}), Completed, "  \"dir\\n\"/\n    \"a\\nb.txt\"\n")
	s.want(s.call("list", args{"path": "dir\n"}), Completed, "\"dir\\n\"/\n")
	s.want(s.call("read", args{"filePath": name}), Completed, "<path>"+shown+"</path>", "1: needle")
	s.want(s.call("read", args{"filePath": "dir\n"}), Completed, "<path>\"dir\\n\"</path>", "\n\"a\\nb.txt\"\n")
	s.want(s.call("read", args{"filePath": "dir\n/bin.dat"}), Failed, `"dir\n/bin.dat" is a binary file`)
	s.want(s.call("read", args{"filePath": "dir\n/b.txt"}), Failed, `file not found: "dir\n/b.txt"; did you mean `+shown)
	s.want(s.call("edit", args{"filePath": name, "oldString": "thread", "newString": "x"}), Failed, "edit "+shown+": ")
	s.want(s.call("edit", args{"filePath": name, "oldString": "needle", "newString": "x"}), Completed, "Edit applied successfully to "+shown+" (1")
	s.want(s.call("write", args{"filePath": name, "content": "x\n"}), Completed, shown+" already has")
	s.want(s.call("write", args{"filePath": name, "content": "y\n"}), Completed, "Replaced "+shown+": ")
	s.want(s.call("edit", args{"filePath": name, "oldString": "", "newString": "x"}), Failed, shown+" already exists")
}
