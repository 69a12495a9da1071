package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// TestThirdPartyProvider runs the quickstart against aimock, a fake provider that
// others wrote (npm: @copilotkit/aimock), on its three wires, as it is and with its
// random faults: on one wire, and on all of them at night. .ci/run installs it where
// Node.js is present.
func TestThirdPartyProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	program := os.Getenv("MILLHAND_AIMOCK")
	if program == "" {
		t.Skip("MILLHAND_AIMOCK does not name aimock's command line; .ci/run installs it")
	}
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(fixtures, aimockFixtures(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wire := range []struct{ kind, path string }{{"openai", "/v1"}, {"responses", "/v1"}, {"anthropic", ""}} {
		for name, flags := range map[string][]string{
			"plain": {},
			"chaos": {"--chaos-drop", "0.05", "--chaos-malformed", "0.05", "--chaos-disconnect", "0.05", "--chaos-ratelimit", "0.05"},
		} {
			if name == "chaos" && wire.kind != "responses" && !nightly.On() {
				continue // retries are the same on all wires
			}
			t.Run(wire.kind+", "+name, func(t *testing.T) {
				t.Parallel()
				base := startAimock(t, program, append([]string{"-f", fixtures, "--strict"}, flags...))
				checkQuickstart(t, wire.kind, base+wire.path)
			})
		}
	}
}

// aimockFixtures returns the quickstart's script as aimock's fixtures. A turn is
// selected by the id of the last tool result, or by what the user's message has.
func aimockFixtures(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(scripts.Root(t), "examples", "quickstart", "model.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(text, path)
	if err != nil {
		t.Fatal(err)
	}
	turns, err := s.Turns("")
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	var byResult, byMessage []object
	last := ""
	for i, turn := range turns {
		response := object{"content": turn.Text}
		if u := turn.Usage; u != nil {
			response["usage"] = object{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output}
		}
		var calls []object
		id := ""
		for j, c := range turn.Calls {
			id = fmt.Sprintf("call_%d_%d", i, j)
			calls = append(calls, object{"id": id, "name": c.Name, "arguments": c.Input})
		}
		if calls != nil {
			response["toolCalls"] = calls
		}
		switch {
		case last != "":
			byResult = append(byResult, object{"match": object{"toolCallId": last}, "response": response})
		case i == 0:
			byMessage = append(byMessage, object{"match": object{"userMessage": "A customer sent a cup back"}, "response": response})
		default: // verify failed, and its output is the user's message
			byMessage = append([]object{{"match": object{"userMessage": "The verify commands of the task failed"}, "response": response}}, byMessage...)
		}
		last = id
	}
	data, err := json.Marshal(object{"fixtures": append(byResult, byMessage...)})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// startAimock starts the fake provider on a free port, and returns its URL.
func startAimock(t *testing.T, program string, args []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{program, "-p", "0"}, args...)...)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(output)
	address := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
	var seen strings.Builder
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if url := address.FindString(lines.Text()); url != "" {
			go func() {
				for lines.Scan() { // so that it can go on writing
				}
			}()
			return url
		}
	}
	t.Fatalf("aimock has not started:\n%s", seen.String())
	return ""
}

// checkQuickstart runs the quickstart with the model of an endpoint, and checks that
// it passes as with its script: the same calls in the same turns, each once. Random
// faults can use up the attempts of a request: the job may then end with "provider",
// and is run again, as a user would.
func checkQuickstart(t *testing.T, kind, base string) {
	t.Helper()
	var dir string
	for attempt := 1; ; attempt++ {
		dir = filepath.Join(t.TempDir(), "quickstart")
		scripts.CopyExample(t, "quickstart", dir,
			"model: script:model.yaml", "model: fake/gpt-5-mini\nproviders:\n  fake: {kind: "+kind+", base_url: \""+base+"\", key_env: FAKE_KEY}",
			"  script:model.yaml: {", "  fake/gpt-5-mini: {")
		cmd := exec.CommandContext(t.Context(), "millhand", "run", "--report-dir", "run", "millhand.yaml")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "FAKE_KEY=sk-test")
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() != int(event.ExitUnavailable) || attempt == 4 {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var report struct {
		Jobs []struct {
			Outcome string
			Calls   []struct{ Tool string }
			Turns   int
			Commit  struct{ Hash string }
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Jobs) != 1 || report.Jobs[0].Outcome != "passed" || report.Jobs[0].Commit.Hash == "" {
		t.Fatalf("%+v", report)
	}
	if j := report.Jobs[0]; len(j.Calls) != 11 || j.Turns != 9 {
		t.Errorf("%d calls in %d turns", len(j.Calls), j.Turns)
	}
}
