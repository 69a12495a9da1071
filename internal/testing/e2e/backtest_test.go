package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
)

// backtestRules are the rules of a profile, of which each mutant lacks or inverts one.
func backtestRules() [][3]string {
	return [][3]string{
		{"bash", "*", "allow"},
		{"bash", "git push*", "deny"},
		{"bash", "rm *", "deny"},
		{"bash", "go env *", "deny"},
		{"edit", "*", "allow"},
		{"edit", "docs/**", "deny"},
		{"read", "*", "allow"},
		{"read", "*.env", "deny"},
		{"external_read", "/etc/*", "allow"},
		{"webfetch", "https://example.com/*", "deny"},
		{"task", "explore", "allow"},
		{"todowrite", "*", "deny"},
		{"docs_*", "*", "allow"},
		{"docs_extra_001", "*", "deny"},
	}
}

// TestABacktestFindsEveryDifference runs the same calls under mutated rules, and compares what a backtest of each run by the
// rules of each other one reports with what was decided when it ran: every call that was decided otherwise, and no other, also of
// subagents and of MCP servers. The same holds for jobs that have lost rights with their prompt. The limits of a subagent are not recorded:
// what its calls were denied can't be decided again, unless the profile denies it.
func TestABacktestFindsEveryDifference(t *testing.T) {
	t.Run("with all rights", func(t *testing.T) { compareBacktests(t, "prompt: Go.", 100) })
	t.Run("after untrusted content", func(t *testing.T) {
		event := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(event, []byte(`{"comment": {"body": "Go."}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GITHUB_EVENT_PATH", event)
		compareBacktests(t, `prompt: "Do ${{ event.comment.body }}", after_untrusted: {bash: none, publish: patch, mcp: none}`, 30)
	})
}

// compareBacktests is TestABacktestFindsEveryDifference for tasks with some keys. It requires a number of differences.
func compareBacktests(t *testing.T, keys string, least int) {
	t.Helper()
	dir := t.TempDir()
	profiles := writeBacktest(t, dir, keys)
	millhandIn(t, dir, "run", "manifest.yaml", "--report-dir", "out", "-q")
	recorded, tools := decisionsOf(t, filepath.Join(dir, "out", "events.jsonl"))
	if len(recorded) != len(profiles) {
		t.Fatalf("%d jobs, want one for each of %d profiles", len(recorded), len(profiles))
	}
	differences, kinds := 0, map[string]int{}
	for j, name := range profiles {
		if !nightly.On() && j%3 != 0 {
			continue
		}
		want, may := map[string]string{}, map[string]string{}
		for _, other := range profiles {
			for call, was := range recorded[other] {
				now, decided := recorded[name][call]
				if own := strings.HasPrefix(call, " "); !decided && own && strings.HasPrefix(tools[call], "docs_") { // its server was not started, because no rule allows a tool of it
					now, decided = "deny", true
				}
				switch {
				case !decided && was == "allow": // of a subagent that was not started
					may[other+" "+call] = "denied now"
				case !decided:
					may[other+" "+call] = undecided
				case was != "allow" && now == byLimits: // the profile may allow it
					may[other+" "+call] = undecided
				case was != "allow" && now == "allow" && !strings.HasPrefix(call, " "):
					want[other+" "+call] = undecided
				case was == "deny" && now == "allow":
					want[other+" "+call] = "newly allowed"
				case was == "allow" && now != "allow":
					want[other+" "+call] = "denied now"
				}
			}
		}
		var result struct {
			Differences []struct {
				Verdict, Now, Was string
				Calls             []struct{ Job, Session, ID, Tool, Subject string }
			}
		}
		out := millhandIn(t, filepath.Join(dir, "shop"), "policy", "backtest", "--profile", name, "--manifest", "../manifest.yaml", "--json", "--accept", "../out")
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, d := range result.Differences {
			for _, c := range d.Calls {
				if c.Tool == "network" {
					continue
				}
				id := c.Job + " " + keyOf(c.Session, c.ID)
				if want[id] != d.Verdict && may[id] != d.Verdict {
					t.Errorf("%s by %s: %s %q: %q (now %s, was %s), want %q", c.Job, name, c.Tool, c.Subject, d.Verdict, d.Now, d.Was, want[id])
				}
				delete(want, id)
				differences++
				kinds[d.Verdict+" by "+kindOf(c.Session, c.Tool)]++
			}
		}
		for id, verdict := range want {
			t.Errorf("%s by %s: not reported as %s", id, name, verdict)
		}
	}
	t.Logf("%d profiles, %d differences: %v", len(profiles), differences, kinds)
	if differences < least {
		t.Errorf("only %d differences: the mutants do not differ enough", differences)
	}
}

// writeBacktest writes a repository, and a manifest with a job for each of the presets and mutants, whose names it returns.
func writeBacktest(t *testing.T, dir, keys string) []string {
	t.Helper()
	names := []string{"readonly", "review", "build", "full", "base"}
	var mutants, jobs strings.Builder
	write := func(name string, changed int, effect string) {
		fmt.Fprintf(&mutants, "  %s:\n    permission:\n", name)
		last := ""
		for i, r := range backtestRules() {
			if i == changed && effect == "" {
				continue
			}
			if i == changed {
				r[2] = effect
			}
			if r[0] != last {
				fmt.Fprintf(&mutants, "      %s:\n", r[0])
				last = r[0]
			}
			fmt.Fprintf(&mutants, "        %q: %s\n", r[1], r[2])
		}
	}
	write("base", -1, "")
	for i, r := range backtestRules() {
		inverse := map[string]string{"allow": "deny", "deny": "allow"}[r[2]]
		names = append(names, fmt.Sprintf("without%d", i), fmt.Sprintf("inverse%d", i))
		write(fmt.Sprintf("without%d", i), i, "")
		write(fmt.Sprintf("inverse%d", i), i, inverse)
	}
	if !nightly.On() { // the presets, the unchanged rules, and some mutants
		some := names[:5:5]
		for i := 5; i < len(names); i += 4 {
			some = append(some, names[i])
		}
		names = some
	}
	for _, name := range names {
		fmt.Fprintf(&jobs, "  - {id: %s, profile: %s, %s}\n", name, name, keys)
	}
	for name, text := range map[string]string{
		"shop/go.mod": "module shop\n\ngo 1.26\n", "shop/.env": "KEY=x\n", "shop/docs/a.md": "a\n", "shop/a.go": "package a\n",
		"manifest.yaml": "version: 1\nrepos: [{path: shop}]\nmodel: script:calls.yaml\nlimits: {denials: 100}\njobs: 4\nmcp: {docs: {type: local, command: [mcp-server, -tools, '2']}}\nprofiles:\n" + mutants.String() + "tasks:\n" + jobs.String(),
		"calls.yaml":    backtestCalls,
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "shop", "outside")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = filepath.Join(dir, "shop")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return names
}

const backtestCalls = `version: 1
turns:
  - calls:
      - {tool: read, args: {filePath: go.mod}}
      - {tool: read, args: {filePath: .env}}
      - {tool: read, args: {filePath: outside/hostname}}
      - {tool: read, args: {filePath: /etc/hostname}}
      - {tool: list, args: {path: docs}}
      - {tool: glob, args: {pattern: "*.go"}}
      - {tool: grep, args: {pattern: package, path: /etc}}
      - {tool: todowrite, args: {todos: []}}
      - {tool: task, args: {description: look, prompt: Look., subagent_type: explore}}
      - {tool: webfetch, args: {url: "https://example.com/a"}}
      - {tool: nosuch, args: {a: 1}}
  - calls:
      - {tool: bash, args: {command: "echo a && cat go.mod"}}
      - {tool: bash, args: {command: "cat .env; cat outside/hostname"}}
      - {tool: bash, args: {command: "echo x >$TMPDIR/a; cat $TMPDIR/a"}}
      - {tool: bash, args: {command: "ls $HOME"}}
      - {tool: bash, args: {command: "cat /etc/hostname >docs/c.md"}}
      - {tool: bash, args: {command: "git status && git push origin main"}}
      - {tool: bash, args: {command: "go env GOOS || true; $(echo rm) x"}}
      - {tool: bash, args: {command: "find . -name '*.md' -exec rm {} +", workdir: docs}}
  - calls:
      - {tool: write, args: {filePath: b.go, content: "package a"}}
      - {tool: write, args: {filePath: docs/b.md, content: b}}
      - {tool: write, args: {filePath: /etc/millhand-test, content: b}}
      - {tool: edit, args: {filePath: a.go, oldString: package a, newString: package b}}
      - {tool: edit, args: {filePath: docs/a.md, oldString: a, newString: b}}
      - {tool: write, args: {filePath: .github/workflows/a.yml, content: b}}
  - calls:
      - {tool: docs_echo, args: {text: a}}
      - {tool: docs_extra_001, args: {text: b}}
  - {text: Done.}
agents:
  explore:
    turns:
      - calls:
          - {tool: read, args: {filePath: a.go}}
          - {tool: read, args: {filePath: .env}}
          - {tool: read, args: {filePath: outside/hostname}}
          - {tool: bash, args: {command: "cat go.mod; go env GOOS"}}
          - {tool: write, args: {filePath: c.go, content: "package a"}}
          - {tool: docs_echo, args: {text: c}}
      - {text: Looked.}
`

// byLimits is the effect of a denial by the limits of an agent.
const byLimits = "deny by limits"

// undecided is the verdict on a denial of a subagent that the profile allows.
const undecided = "denied, and can't be decided again"

// keyOf returns the name of a call, which is the same in each job.
func keyOf(session, id string) string {
	_, child, _ := strings.Cut(path.Base(session), ".")
	return child + " " + id
}

// kindOf returns which kind of calls one is of.
func kindOf(session, tool string) string {
	kind := "session"
	if strings.Contains(path.Base(session), ".") {
		kind = "subagent"
	}
	if strings.HasPrefix(tool, "docs_") {
		kind += ", MCP"
	}
	return kind
}

// decisionsOf returns the effect of each decided call of a run, by job and call, and the tools of the calls.
func decisionsOf(t *testing.T, file string) (all map[string]map[string]string, tools map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, tools = map[string]map[string]string{}, map[string]string{}
	_, err = event.Read(bytes.NewReader(text), func(e event.Event) error {
		if e.Job != "" && all[e.Job] == nil {
			all[e.Job] = map[string]string{}
		}
		if e.Type == event.CallUpdated && e.Call != nil && e.Call.Decision != nil {
			effect := e.Call.Decision.Effect
			if effect == "deny" && kindOf(e.Session, "") == "subagent" && strings.Contains(e.Call.Decision.Source, permission.Limits) {
				effect = byLimits
			}
			key := keyOf(e.Session, e.Call.ID)
			all[e.Job][key], tools[key] = effect, e.Call.Tool
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, tools
}

// millhandIn runs the program in a directory, and returns its standard output.
func millhandIn(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millhand", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("millhand %v: %v: %s", args, err, stderr.Bytes())
	}
	return out
}
