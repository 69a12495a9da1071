package workflows

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// confining is a workflow on a machine that keeps namespaces from millhand,
// with stand-ins for the programs that could change that. Each program is a
// line of a shell script; sudo's reads the rest of its line.
func confining(t *testing.T, sudo, parser string) *workflow {
	t.Helper()
	if exec.Command("unshare", "-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces").Run() != nil {
		t.Skip("no machine without namespaces can be made here")
	}
	w := newWorkflow(t, map[string]string{
		"m.yaml":     "version: 1\nmodel: script:model.yaml\nprofile: build\ntasks: [{id: look, prompt: Look.}]\n",
		"model.yaml": "version: 1\nturns: [{calls: [{tool: bash, args: {command: ls}}]}, {text: Done.}]\n",
	})
	w.with["manifest"], w.with["sandbox"] = "m.yaml", ""
	bin := filepath.Join(w.temp, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{"sudo": sudo, "apparmor_parser": parser} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\ncd "+w.temp+"\n"+line+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.env["PATH"] = bin + ":" + os.Getenv("PATH")
	return w
}

// runWithoutNamespaces runs the step where no user namespaces can be made until
// somebody writes another number into the file that parsers find as LIMIT.
func (w *workflow) runWithoutNamespaces(t *testing.T) result {
	t.Helper()
	cmd := w.command(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append([]string{"unshare", "-Ur", "sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"`, "sh"}, cmd.Args...)
	cmd.Path = unshare
	return w.finish(t, cmd, func(*os.Process) {})
}

func TestActionLoadsAppArmorProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	w := confining(t, `printf '%s\n' "$*" >>sudo.log; [ "$1" = -n ] && shift && exec "$@"`,
		`echo "$@" >>parser.log; cat "$2" >loaded; echo 99 >/proc/sys/user/max_user_namespaces`)
	r := w.runWithoutNamespaces(t)
	if r.code != 0 || r.outputs["outcome"] != "passed" || !strings.Contains(r.log, "confined at level A") {
		t.Errorf("exit code %d\n%s", r.code, r.log)
	}
	if got := read(t, filepath.Join(w.workspace, ".millhand/report/report.json")); !strings.Contains(got, `"level": "A"`) {
		t.Errorf("not at level A: %s", got)
	}
	want := "abi <abi/4.0>,\n" + w.temp + "/millhand-*/millhand flags=(unconfined) {\n  userns,\n}\n"
	if got := read(t, filepath.Join(w.temp, "loaded")); got != want {
		t.Errorf("the profile is\n%s, want\n%s", got, want)
	}
	if got := strings.Count(read(t, filepath.Join(w.temp, "sudo.log")), "\n"); got != 1 {
		t.Errorf("sudo was called %d times", got)
	}
}

func TestActionUsesLevelBWithoutAppArmorProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for name, stand := range map[string][2]string{
		"sudo wants a password":          {"echo 'a password is required' >&2; exit 1", "exit 0"},
		"there is no AppArmor":           {`shift; exec "$@"`, "echo '::error::no securityfs' >&2; exit 2"},
		"a profile that changes nothing": {`shift; exec "$@"`, "exit 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := confining(t, stand[0], stand[1])
			r := w.runWithoutNamespaces(t)
			if r.code != 0 || r.outputs["outcome"] != "passed" || !strings.Contains(r.log, "millhand doctor") || len(commandsIn(r.log)) != strings.Count(r.log, "::group::")+strings.Count(r.log, "::endgroup::") {
				t.Errorf("exit code %d\n%s", r.code, r.log)
			}
			if got := read(t, filepath.Join(w.workspace, ".millhand/report/report.json")); !strings.Contains(got, `"level": "B"`) {
				t.Errorf("not at level B: %s", got)
			}
		})
	}
}

// Whoever does without a sandbox, or has one already, changes no machine.
func TestActionLoadsNoUnneededAppArmorProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, mode := range []string{"off", "external"} {
		w := confining(t, "touch sudo.log", "touch sudo.log")
		w.with["sandbox"] = mode
		if r := w.runWithoutNamespaces(t); r.code != 0 {
			t.Errorf("%s: exit code %d\n%s", mode, r.code, r.log)
		}
		if _, err := os.Stat(filepath.Join(w.temp, "sudo.log")); err == nil {
			t.Errorf("%s: sudo was called", mode)
		}
	}
	w := confining(t, "touch sudo.log", "touch sudo.log")
	if r := w.run(t); r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, r.log)
	}
	if _, err := os.Stat(filepath.Join(w.temp, "sudo.log")); err == nil && strings.Contains(read(t, filepath.Join(w.workspace, ".millhand/report/report.json")), `"level": "A"`) {
		t.Error("sudo was called for what works already")
	}
}
