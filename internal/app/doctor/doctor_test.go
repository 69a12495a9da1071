package doctor

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// worldOf returns a world with these variables besides a home, a TMPDIR and a PATH of its own with programs.
func worldOf(t *testing.T, env map[string]string, programs map[string]string) world.World {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{"HOME": home, "TMPDIR": t.TempDir(), "PATH": bin}
	maps.Copy(all, env)
	return world.World{Getenv: func(name string) string { return all[name] }, Now: time.Now, Version: "1.2.3"}
}

func named(t *testing.T, all []Check, name string) Check {
	t.Helper()
	i := slices.IndexFunc(all, func(c Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s in %+v", name, all)
	}
	return all[i]
}

func TestProgramsThatRunsNeed(t *testing.T) {
	for name, tt := range map[string]struct {
		programs map[string]string
		check    string
		want     Check // its texts are substrings
	}{
		"new git":     {map[string]string{"git": "echo git version 2.44.0"}, "git", Check{Status: OK, Found: "git version 2.44.0"}},
		"old git":     {map[string]string{"git": "echo git version 2.17.1"}, "git", Check{Status: Warning, Found: "2.17.1", Fix: "install git 2.30 or later"}},
		"ancient git": {map[string]string{"git": "echo git version 1.9.5"}, "git", Check{Status: Warning, Fix: "install git 2.30 or later"}},
		"broken git":  {map[string]string{"git": "exit 3"}, "git", Check{Status: Warning, Found: "--version: exit code 3", Fix: "reinstall git"}},
		"no git":      {map[string]string{"apk": ""}, "git", Check{Status: Warning, Found: "not on PATH", Fix: "apk add git"}},
		"no bash":     {nil, "bash", Check{Status: Missing, Found: "not on PATH", Fix: "install bash: profiles with bash", exit: event.ExitFailed}},
		"a bash":      {map[string]string{"bash": "echo GNU bash, version 5"}, "bash", Check{Status: OK, Found: "GNU bash, version 5"}},
	} {
		got := named(t, programs(t.Context(), worldOf(t, nil, tt.programs)), tt.check)
		if got.Status != tt.want.Status || got.exit != tt.want.exit || !strings.Contains(got.Found, tt.want.Found) || !strings.Contains(got.Fix, tt.want.Fix) || (tt.want.Fix == "") != (got.Fix == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestKeysAreNamedAndNeverShown(t *testing.T) {
	for name, tt := range map[string]struct {
		env           map[string]string
		status, found string
	}{
		"none":           {nil, Warning, "not set"},
		"only of a host": {map[string]string{"GITLAB_TOKEN": "secret"}, Warning, "set: GITLAB_TOKEN"},
		"of a provider":  {map[string]string{"OPENAI_API_KEY": "secret", "GH_TOKEN": "secret"}, OK, "set: GH_TOKEN, OPENAI_API_KEY"},
		"blank":          {map[string]string{"OPENAI_API_KEY": " "}, Warning, "not set"},
	} {
		if got := keys(worldOf(t, tt.env, nil)); got.Status != tt.status || got.Found != tt.found || (got.Fix == "") != (tt.status == OK) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestVariablesWithoutEffectAreReported(t *testing.T) {
	for name, tt := range map[string]struct {
		env                map[string]string
		status, found, fix string
	}{
		"none":        {nil, OK, "the providers' own", ""},
		"an endpoint": {map[string]string{"OPENAI_BASE_URL": "https://proxy.example.com/v1?key=secret"}, OK, "set: OPENAI_BASE_URL (proxy.example.com)", ""},
		"not a URL":   {map[string]string{"OPENAI_BASE_URL": "::"}, OK, "set: OPENAI_BASE_URL (invalid)", ""},
		"unread":      {map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}, Warning, "the providers' own; not read: CLAUDE_CODE_USE_BEDROCK", "bedrock/MODEL"},
	} {
		if got := endpoints(worldOf(t, tt.env, nil)); got.Status != tt.status || got.Found != tt.found || !strings.Contains(got.Fix, tt.fix) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestExtensionsMustBeInstalled(t *testing.T) {
	w := worldOf(t, nil, map[string]string{"server": ""})
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	process := func(program string) tasks.Process { return tasks.Process{Command: []string{program}} }
	plan := &tasks.Plan{MCP: []tasks.MCPServer{
		{Name: "installed", Process: process("server")},
		{Name: "missing", Process: process("no-such-server")},
		{Name: "optional", Process: process("no-such-server"), Optional: true},
		{Name: "plain", Process: process(plain)},
		{Name: "own", Process: process("./server.sh")},
		{Name: "remote", Remote: &tasks.Remote{URL: "https://mcp.example.com"}},
	}}
	all := checkExtensions(w, plan)
	for name, want := range map[string]Check{
		"installed": {Status: OK, Found: "server"},
		"missing":   {Status: Missing, Found: "no-such-server", Fix: "install it, or fix the command in the manifest", exit: event.ExitFailed},
		"optional":  {Status: Warning, Found: "no-such-server", Fix: "install it, or fix the command in the manifest"},
		"plain":     {Status: Missing, Found: plain, Fix: "install it, or fix the command in the manifest", exit: event.ExitFailed},
		"own":       {Status: OK, Found: "not checked: it is in the workspace"},
		"remote":    {Status: OK, Found: "https://mcp.example.com; not contacted"},
	} {
		if got := named(t, all, "mcp "+name); got.Status != want.Status || got.exit != want.exit || got.Fix != want.Fix || !strings.Contains(got.Found, want.Found) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTheWorstMissingItemDecides examines a machine without bash, and without a directory for temporary files.
func TestTheWorstMissingItemDecides(t *testing.T) {
	t.Chdir(t.TempDir())
	good := map[string]string{"bash": "echo bash 5", "git": "echo git version 2.44.0"}
	for name, tt := range map[string]struct {
		env, programs map[string]string
		want          event.Exit
		verdict       string
	}{
		"usable":       {nil, good, event.ExitOK, "Every profile can be used here."},
		"without bash": {nil, nil, event.ExitFailed, "Runs can't work here until the missing items are fixed."},
		"no TMPDIR":    {map[string]string{"TMPDIR": "/nonexistent/dir"}, good, event.ExitFailed, "Runs can't work here"},
	} {
		e, err := Examine(t.Context(), worldOf(t, tt.env, tt.programs), Options{Mode: sandbox.Off})
		if err != nil || e.ExitCode != tt.want || e.Version != "1.2.3" {
			t.Fatalf("%s: exit code %d, %v: %+v", name, e.ExitCode, err, e.Checks)
		}
		var text bytes.Buffer
		if err := e.Print(&text); err != nil || !strings.HasPrefix(text.String(), "millhand 1.2.3, ") || !strings.Contains(text.String(), "\n"+tt.verdict) {
			t.Errorf("%s: %s, %v", name, text.String(), err)
		}
		if s := named(t, e.Checks, "sandbox"); tt.env != nil && s.Status != Missing {
			t.Errorf("%s: %+v", name, s)
		}
		if named(t, e.Checks, "git").Found == "" || named(t, e.Checks, "policy").Found == "" {
			t.Errorf("%s: checks without a result", name)
		}
	}
	var f fault.Error
	if _, err := Examine(t.Context(), worldOf(t, nil, good), Options{Mode: "unknown"}); !errors.As(err, &f) || f.Kind != event.ExitUsage {
		t.Errorf("an unknown mode: %v", err)
	}
}

func TestFixCreatesTheDirectoryForTemporaryFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	tmp := filepath.Join(t.TempDir(), "new")
	w := worldOf(t, map[string]string{"TMPDIR": tmp}, map[string]string{"bash": "echo bash 5"})
	e, err := Examine(t.Context(), w, Options{Mode: sandbox.Off, Fix: true})
	if err != nil {
		t.Fatal(err)
	}
	if c := named(t, e.Checks, "temporary files"); c.Status != Fixed || c.Found != "created "+tmp || e.ExitCode != event.ExitOK {
		t.Errorf("exit code %d: %+v", e.ExitCode, c)
	}
	if info, err := os.Stat(tmp); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v", err)
	}
}

func TestASandboxThatIsRequiredAndMissingRefusesBash(t *testing.T) {
	missing := sandbox.Found{Best: sandbox.Partial, Missing: []sandbox.Missing{{Level: sandbox.Full, What: "user namespaces are off"}, {Level: sandbox.Partial, What: "Landlock is off"}}}
	for name, tt := range map[string]struct {
		level   sandbox.Level
		refused error
		want    Check
	}{
		"refused": {sandbox.Partial, errors.New("refused"), Check{Status: Missing, Found: "a profile with bash is refused; best available: level B", exit: event.ExitPolicy}},
		"full":    {sandbox.Full, nil, Check{Status: OK, Found: "level A"}},
		"partial": {sandbox.Partial, nil, Check{Status: Warning, Found: "level A: user namespaces are off"}},
		"none":    {sandbox.None, nil, Check{Status: Warning, Found: "none: commands can do whatever this user can"}},
		"outside": {sandbox.Outside, nil, Check{Status: Warning, Found: "external: not confined by millhand"}},
	} {
		if got := checkSandbox(sandbox.Require, tt.level, missing, tt.refused); got.Status != tt.want.Status || got.exit != tt.want.exit || !strings.Contains(got.Found, tt.want.Found) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := checkFeature(sandbox.Feature{Name: "seccomp", Fix: "enable it"}); got.Status != Warning || got.Fix != "enable it" {
		t.Errorf("%+v", got)
	}
}
