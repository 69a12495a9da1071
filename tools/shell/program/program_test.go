package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// show returns effects as text, one element each.
func show(effects []effect.Effect) string {
	var all []string
	for _, e := range effects {
		text := e.Text + e.Word.Text
		if e.Kind == effect.Runs {
			text = word.Join(e.Call.Words).Text
		}
		name := map[effect.Kind]string{
			effect.Uses: "read", effect.UsesPath: "read", effect.Unknown: "unknown", effect.UnknownPath: "unknown path", effect.Enters: "enter",
			effect.Assigns: "assign", effect.RunsText: "text", effect.RunsInput: "input", effect.Runs: "run", effect.Splits: "split",
		}[e.Kind]
		if e.Write {
			name = strings.Replace(name, "read", "write", 1)
		}
		if e.Packaged {
			name = "packaged " + name
		}
		if e.Remote {
			name = "remote " + name
		}
		all = append(all, strings.TrimSpace(name+" "+text+string(e.Reason)))
	}
	return strings.Join(all, "; ")
}

func TestEffectsOfPrograms(t *testing.T) {
	for line, want := range map[string]string{
		"no-such-program a":           "",
		"cat a b":                     "read a; read b",
		"cp a b":                      "read a; write b",
		"cp -t d a":                   "write d; read a",
		"rm -rf a":                    "write a",
		"dd if=a of=b":                "read a; write b",
		"chmod -x a":                  "write a",
		"ln -s t n":                   "read t; write n",
		"sort -o out in":              "write out; read in",
		"sed -i s/a/b/ f":             "write f",
		"sed 1e:date f":               "read f; text :date",
		"awk {print>\"o\"} f":         "read f; write o",
		"tar xf a.tar -C d":           "read d; read a.tar; enter d; write .",
		"tar cf a.tar f":              "write a.tar; read f; read f",
		"find d -name x -delete":      "read d; write d",
		"find d -exec rm {} ;":        "read d; run rm {}",
		"env A=b make":                "assign A=b; run make",
		"env -S make":                 "split make",
		"sudo -e f":                   "write f",
		"xargs rm":                    "run rm",
		"ssh host ls -l":              "remote text ls -l",
		"su -c date":                  "text date",
		"npx eslint@9 f":              "packaged run eslint f",
		"npm exec eslint":             "packaged run eslint",
		"make -C d SHELL=x":           "read d; enter d; unknown " + string(effect.ReasonSetting),
		"go run example.com/tool@v1":  "packaged run tool",
		"python -m pytest tests":      "packaged run pytest tests",
		"git -C d status":             "read d; enter d",
		"git push ext::date":          "unknown " + string(effect.ReasonOption) + "; text date",
		"git no-such-subcommand":      "unknown " + string(effect.ReasonAlias),
		"git config core.pager less":  "write .git/config; unknown " + string(effect.ReasonSetting),
		"git checkout main a.go":      "write a.go",
		"curl -d @f -o out https://x": "write out; read f",
		"flock lock -c date":          "write lock; text date",
		"watch date":                  "text date",
	} {
		var c effect.Call
		for x := range strings.FieldsSeq(line) {
			c.Words = append(c.Words, word.Plain(x))
		}
		if got := show(Effects(c.Name(), c)); got != want {
			t.Errorf("%s:\n%s, want\n%s", line, got, want)
		}
	}
}

func TestArgumentsThatDataAdds(t *testing.T) {
	for name, want := range map[string]string{
		"cat": "unknown path",
		"rm":  "unknown path",
		"git": "unknown " + string(effect.ReasonCommand),
		"tar": "unknown " + string(effect.ReasonOption),
		"sed": "unknown path; unknown " + string(effect.ReasonScript),
	} {
		if got := show(Effects(name, effect.Call{Words: []word.Word{word.Plain(name)}, More: true})); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestVariablesThatDecideWhatRuns(t *testing.T) {
	for assignment, want := range map[string]bool{
		"PATH=x": true, "LD_PRELOAD=x": true, "PAGER=cat": false, "PAGER=less": true, "GOFLAGS=-mod=mod": false, "GOFLAGS=-exec=x": true, "A=b": false,
	} {
		name, value, _ := strings.Cut(assignment, "=")
		if got := DecidesWith(name, word.Plain(value)); got != want {
			t.Errorf("%s: %t", assignment, got)
		}
	}
	if !Decides("GIT_PAGER") || Decides("HOME2") {
		t.Error("variables are decided on wrongly")
	}
}

func TestNamesOfPrograms(t *testing.T) {
	if !IsShell("bash") || IsShell("cat") || !IsKnown("cat") || !IsKnown("npm") || IsKnown("no-such-program") {
		t.Error("programs are known wrongly")
	}
	words := []word.Word{word.Plain("git"), word.Plain("-C"), word.Plain("d"), word.Plain("log")}
	if got := fmt.Sprint(word.Join(PlainGit(words)).Text); got != "git log" {
		t.Errorf("got %q", got)
	}
}
