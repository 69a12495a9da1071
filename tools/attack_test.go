package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/corpus"
)

// fileAttack is a call of a file tool that must not do what it is made for. It
// is shown to do that with tools that guard nothing, first.
type fileAttack struct {
	name  string
	setup string // for bash, in the workspace; OUT is a directory beside it
	tool  string
	in    tooltest.Args // $OUT in a text is replaced
}

// fileThreats are the groups of attacks by what they do: those of the first two
// read, those of the others write.
func fileThreats() map[string][]fileAttack {
	return map[string][]fileAttack{"frd": readAttacks(), "fse": searchAttacks(), "fwt": writeAttacks(), "fed": editAttacks(), "fpa": patchAttacks()}
}

func readAttacks() []fileAttack {
	read := func(name, setup, path string) fileAttack {
		return fileAttack{name, setup, "read", tooltest.Args{"filePath": path}}
	}
	return []fileAttack{
		read("a path that climbs", "", "../work-beside/secret"),
		read("an absolute path", "", "$OUT/secret"),
		read("a path that climbs from a file", "", "a.txt/../../work-beside/secret"),
		read("a path that climbs from what is not there", "", "no/such/../../../work-beside/secret"),
		read("a symlink to a file", `ln -s "$OUT/secret" l`, "l"),
		read("a symlink to a directory", `ln -s "$OUT" l`, "l/secret"),
		read("a symlink to a symlink", `ln -s "$OUT" l; ln -s l/secret m`, "m"),
		read("a path with .. through a symlink", `mkdir -p "$OUT/x/y"; ln -s "$OUT/x/y" l`, "l/../../secret"),
		read("a symlink with ..", `mkdir -p d/e; ln -s ../../../work-beside d/e/l`, "d/e/l/secret"),
		read("the root of a process", "", "/proc/self/root$OUT/secret"),
		read("the directory of a process", "", "/proc/thread-self/root$OUT/secret"),
		read("a symlink to the root of a process", `ln -s /proc/self/root l`, "l$OUT/secret"),
		read("a directory outside", "", "$OUT"),
		read("a file that a rule denies", `echo s3cret >.env`, ".env"),
		read("a symlink to a file that a rule denies", `echo s3cret >.env; ln -s .env notes.md`, "notes.md"),
		read("a file that a rule denies by way of its directory", `echo s3cret >sub/.env.local; ln -s sub in`, "in/../in/.env.local"),
		read("a picture outside", `printf '\211PNG\r\n\032\n s3cret' >"$OUT/p.png"; ln -s "$OUT/p.png" p.png`, "p.png"),
	}
}

func searchAttacks() []fileAttack {
	grep := func(name, setup string, in tooltest.Args) fileAttack {
		return fileAttack{name, setup, "grep", tooltest.Args{"pattern": "s3cre[t]"}.With(in)}
	}
	return []fileAttack{
		grep("grep in a directory outside", "", tooltest.Args{"path": "$OUT"}),
		grep("grep in a directory by climbing", "", tooltest.Args{"path": "../work-beside"}),
		grep("grep in a file outside", "", tooltest.Args{"path": "../work-beside/secret"}),
		grep("grep in a symlink to a directory", `ln -s "$OUT" l`, tooltest.Args{"path": "l"}),
		grep("grep that meets a symlink to a directory", `ln -s "$OUT" l`, tooltest.Args{}),
		grep("grep that meets a symlink to a file", `ln -s "$OUT/secret" l.txt`, tooltest.Args{"include": "*.txt"}),
		grep("grep that meets a file that a rule denies", `echo s3cret >.env`, tooltest.Args{}),
		grep("grep that meets a symlink to a file that a rule denies", `echo s3cret >.env; ln -s .env notes.md`, tooltest.Args{}),
		grep("grep in git's own files", `mkdir -p .git; echo 'extraheader = s3cret' >.git/config`, tooltest.Args{"path": "."}),
		grep("grep in a directory of processes", `ln -s /proc/self/root"$OUT" l`, tooltest.Args{"path": "l"}),
		{"glob in a directory outside", "", "glob", tooltest.Args{"pattern": "*", "path": "$OUT"}},
		{"glob by a pattern that climbs", "", "glob", tooltest.Args{"pattern": "../work-beside/*"}},
		{"glob by an absolute pattern", "", "glob", tooltest.Args{"pattern": "$OUT/*"}},
		{"glob through a symlink", `ln -s "$OUT" l`, "glob", tooltest.Args{"pattern": "l/*"}},
		{"glob in a symlink", `ln -s "$OUT" l`, "glob", tooltest.Args{"pattern": "*", "path": "l"}},
		{"list a directory outside", "", "list", tooltest.Args{"path": "$OUT"}},
		{"list by climbing", "", "list", tooltest.Args{"path": "sub/../../work-beside"}},
		{"list a symlink", `ln -s "$OUT" l`, "list", tooltest.Args{"path": "l"}},
		{"list the target of a symlink in the tree", `ln -s "$OUT" l`, "list", tooltest.Args{"path": "."}},
	}
}

// targets are the paths that tools which write are tried with.
func targets(existing bool) []struct{ name, setup, path string } {
	all := []struct {
		name, setup, path string
		exists            bool
	}{
		{"a path that climbs", "", "../work-beside/secret", true},
		{"an absolute path", "", "$OUT/secret", true},
		{"a path that climbs from a file", "", "a.txt/../../work-beside/secret", true},
		{"a symlink to a file", `ln -s "$OUT/secret" l`, "l", true},
		{"a symlink to a directory", `ln -s "$OUT" l`, "l/secret", true},
		{"a symlink to a symlink", `ln -s "$OUT" l; ln -s l/secret m`, "m", true},
		{"a second name of a file outside", `ln "$OUT/secret" l`, "l", true},
		{"the root of a process", "", "/proc/self/root$OUT/secret", true},
		{"git's settings", "", ".git/config", true},
		{"git's settings through a symlink", `ln -s .git g`, "g/config", true},
		{"the settings of a repository in a directory", `mkdir -p sub/.git; echo s3cret >sub/.git/config`, "sub/.git/config", true},
		{"the pointer of a linked work tree", `mkdir tree; echo s3cret >tree/.git`, "tree/.git", true},
		{"a file that a rule denies", "", "keep/locked", true},
		{"a file that a rule denies through a symlink", `ln -s keep in`, "in/locked", true},
		{"a file that a rule denies by climbing", "", "sub/../keep/locked", true},
		{"a new file outside", "", "../work-beside/new", false},
		{"new directories outside", "", "../new/deep/file", false},
		{"a dangling symlink", `ln -s "$OUT/new" l`, "l", false},
		{"a dangling symlink to a directory", `ln -s ../work-beside/new l; mkdir "$OUT/new"`, "l/file", false},
		{"a new hook of git", "", ".git/hooks/pre-commit", false},
		{"settings of git that are not there yet", "", ".git/config.worktree", false},
		{"a new file where a rule denies", "", "keep/new/deep", false},
		{"a new pointer of a linked work tree", "", "sub/.git", false},
	}
	var out []struct{ name, setup, path string }
	for _, a := range all {
		if !existing || a.exists {
			out = append(out, struct{ name, setup, path string }{a.name, a.setup, a.path})
		}
	}
	return out
}

func writeAttacks() []fileAttack {
	var out []fileAttack
	for _, at := range targets(false) {
		out = append(out, fileAttack{at.name, at.setup, "write", tooltest.Args{"filePath": at.path, "content": "pwned\n"}})
	}
	return out
}

func editAttacks() []fileAttack {
	var out []fileAttack
	for _, at := range targets(true) {
		out = append(out, fileAttack{at.name, at.setup, "edit", tooltest.Args{"filePath": at.path, "oldString": "s3cret", "newString": "pwned"}})
	}
	return append(out,
		fileAttack{"a new file outside", "", "edit", tooltest.Args{"filePath": "../work-beside/new", "oldString": "", "newString": "pwned"}},
		fileAttack{"a new file through a dangling symlink", `ln -s "$OUT/new" l`, "edit", tooltest.Args{"filePath": "l", "oldString": "", "newString": "pwned"}},
	)
}

func patchAttacks() []fileAttack {
	a := func(name, setup string, lines ...string) fileAttack {
		return fileAttack{name, setup, "apply_patch", tooltest.PatchOf(lines...)}
	}
	const change = "@@\n-s3cret\n+pwned"
	return []fileAttack{
		a("add a file by climbing", "", "*** Add File: ../work-beside/new", "+pwned"),
		a("add a file by an absolute path", "", "*** Add File: $OUT/new", "+pwned"),
		a("add a file through a symlink", `ln -s "$OUT" l`, "*** Add File: l/new", "+pwned"),
		a("add a file through a dangling symlink", `ln -s "$OUT/new" l`, "*** Add File: l", "+pwned"),
		a("add a hook of git", "", "*** Add File: .git/hooks/pre-commit", "+pwned"),
		a("add a file where a rule denies", "", "*** Add File: keep/new", "+pwned"),
		a("update a file by climbing", "", "*** Update File: ../work-beside/secret", change),
		a("update a file through a symlink", `ln -s "$OUT/secret" l`, "*** Update File: l", change),
		a("update a second name of a file outside", `ln "$OUT/secret" l`, "*** Update File: l", change),
		a("update git's settings", "", "*** Update File: .git/config", change),
		a("update a file that a rule denies, through a symlink", `ln -s keep in`, "*** Update File: in/locked", change),
		a("delete a file by climbing", "", "*** Delete File: ../work-beside/secret"),
		a("delete a file through a symlink", `ln -s "$OUT" l`, "*** Delete File: l/secret"),
		a("delete git's settings", "", "*** Delete File: .git/config"),
		a("delete a file that a rule denies", "", "*** Delete File: keep/locked"),
		a("move a file out", "", "*** Update File: s.txt", "*** Move to: ../work-beside/new", change),
		a("move a file out through a symlink", `ln -s "$OUT" l`, "*** Update File: s.txt", "*** Move to: l/new", change),
		a("move a file over one outside", "", "*** Update File: s.txt", "*** Move to: $OUT/secret", change),
		a("move a file in", "", "*** Update File: ../work-beside/secret", "*** Move to: mine", change),
		a("move a file to git's hooks", "", "*** Update File: s.txt", "*** Move to: .git/hooks/pre-commit", change),
		a("write outside after something harmless", "", "*** Add File: harmless", "+x", "*** Update File: $OUT/secret", change),
	}
}

// reading reports whether the attacks of a group are on what can be read.
func reading(group string) bool { return group == "frd" || group == "fse" }

// attacked makes a stage for an attack.
func attacked(t *testing.T, group string, a fileAttack) (*tooltest.Stage, tooltest.Args) {
	t.Helper()
	s := tooltest.SetUp(t, "build", map[string]string{
		"a.txt": "one\n", "sub/x": "x\n", "../work-beside/s3cret-plan.txt": "",
	})
	if !reading(group) { // what is read and has the word is what mustn't be
		s.Put("s.txt", "s3cret\n")
		s.Put("keep/locked", "s3cret\n")
		s.Put(".git/config", "s3cret\n")
	}
	s.Deny("edit", "keep/*")
	if a.setup != "" {
		cmd := exec.Command("bash", "-ec", a.setup)
		cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), "OUT="+s.Outside)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	in := tooltest.Args{}
	for k, v := range a.in {
		text, _ := v.(string)
		in[k] = strings.ReplaceAll(text, "$OUT", s.Outside)
	}
	return s, in
}

func TestFileAttacksFail(t *testing.T) {
	for group, attacks := range fileThreats() {
		for _, a := range nightly.Sample(attacks, 2, 0) {
			t.Run(group+": "+a.name, func(t *testing.T) {
				t.Parallel()
				had := func(use func(s *tooltest.Stage, in tooltest.Args) string) bool {
					s, in := attacked(t, group, a)
					before := s.Guarded()
					text := use(s, in)
					if reading(group) {
						return strings.Contains(strings.ReplaceAll(text, "s3cre[t]", ""), "s3cret")
					}
					return !cmp.Equal(before, s.Guarded())
				}
				if !had(func(s *tooltest.Stage, in tooltest.Args) string { return naive(s, a.tool, in) }) {
					t.Fatal("the attack fails with a tool that guards nothing")
				}
				var response tools.Outcome
				if had(func(s *tooltest.Stage, in tooltest.Args) string {
					response = s.Call(a.tool, in)
					text := []string{response.Text()}
					for _, file := range response.Attachments {
						text = append(text, string(file.Data))
					}
					return strings.Join(text, "\n")
				}) {
					t.Errorf("the attack has its effect: %s: %s", response.Status, response.Text())
				}
			})
		}
	}
}

func TestTheListOfFileAttacksIsComplete(t *testing.T) {
	for group, attacks := range fileThreats() {
		var names []string
		for _, a := range attacks {
			names = append(names, a.name)
		}
		corpus.Check(t, group, names)
	}
}

// naive does what a tool is for, and guards nothing.
func naive(s *tooltest.Stage, tool string, in tooltest.Args) string {
	s.Helper()
	text := func(name string) string { v, _ := in[name].(string); return v }
	path := text("filePath") + text("path")
	if !filepath.IsAbs(path) {
		clean := filepath.Join(s.Dir, path)
		if path = s.Dir + "/" + path; !exists(path) { // as the kernel sees it, or else as its letters
			path = clean
		}
	}
	shell := func(line string) string {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir, cmd.Env = path, append(os.Environ(), "P="+path, "PATTERN="+text("pattern"), "INCLUDE="+text("include"))
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			cmd.Dir = s.Dir
		}
		out, _ := cmd.CombinedOutput() // what can't be read isn't
		return string(out)
	}
	switch tool {
	case "read", "list":
		return shell(`cat "$P" 2>/dev/null || find -L "$P"`)
	case "grep":
		return shell(`grep -R ${INCLUDE:+--include="$INCLUDE"} "$PATTERN" "$P"`)
	case "glob":
		return shell(`compgen -G "$PATTERN"`)
	case "write":
		naiveWrite(path, text("content"))
	case "edit":
		data, err := os.ReadFile(path)
		if err == nil || text("oldString") == "" {
			naiveWrite(path, strings.Replace(string(data), text("oldString"), text("newString"), 1))
		}
	case "apply_patch":
		naivePatch(s.Dir, text("patchText"))
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func naiveWrite(path, text string) {
	os.MkdirAll(filepath.Dir(path), 0o755)  // if this fails,
	os.WriteFile(path, []byte(text), 0o644) // this does, and the attack has failed
}

// naivePatch does one thing for each header, and one for each line of change.
func naivePatch(dir, text string) {
	at := ""
	locate := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	for line := range strings.Lines(text) {
		head, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case head == "*** Add File", head == "*** Update File":
			at = locate(path)
		case head == "*** Delete File":
			os.Remove(locate(path))
		case head == "*** Move to":
			os.Rename(at, locate(path))
			at = locate(path)
		case strings.HasPrefix(line, "+"):
			naiveWrite(at, line[1:])
		}
	}
}
