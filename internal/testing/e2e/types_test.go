package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// TestRequestsHaveTheProvidersTypes runs a job that sends all kinds of content, and
// compiles each request as a literal of the type that the provider's own SDK for
// TypeScript gives it: an unknown key, a missing one or a wrong value is an error.
// `make nightly-types` installs the SDKs.
func TestRequestsHaveTheProvidersTypes(t *testing.T) {
	sdks := os.Getenv("MILLHAND_SDKS")
	if sdks == "" {
		t.Skip("MILLHAND_SDKS names no directory with the providers' SDKs; make nightly-types does")
	}
	s, err := script.Parse([]byte(richModel), "rich.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range []struct{ provider, kind, base, model, typ, extra string }{
		{"openai", "openai", "/v1", "gpt-4.1", "OpenAI.ChatCompletionCreateParamsStreaming", "temperature: 0.5"},
		{"openai", "responses", "/v1", "gpt-5.5", "OpenAI.Responses.ResponseCreateParamsStreaming", "effort: high"},
		{"anthropic", "anthropic", "", "claude-sonnet-5", "Anthropic.MessageCreateParamsStreaming", "effort: high"},
	} {
		t.Run(wire.kind, func(t *testing.T) {
			server := wiretest.New(s)
			server.Keep = true
			listening := httptest.NewServer(server)
			defer listening.Close()
			requests := runRich(t, server, fmt.Sprintf(richManifest, wire.provider+"/"+wire.model, wire.provider, wire.kind, listening.URL+wire.base, wire.extra))
			var source strings.Builder
			source.WriteString("import OpenAI from 'openai';\nimport Anthropic from '@anthropic-ai/sdk';\n")
			for i, r := range requests {
				fmt.Fprintf(&source, "export const r%d: %s = %s;\n", i, wire.typ, r.Body)
			}
			checkTypes(t, sdks, wire.kind, source.String())
		})
	}
}

// runRich runs the job and returns what it asked the server.
func runRich(t *testing.T, server *wiretest.Server, manifest string) []wiretest.Request {
	t.Helper()
	dir := t.TempDir()
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	scripts.MakeRepo(t, filepath.Join(dir, "shop"), map[string]string{"a.txt": "one\n", "dot.png": string(pixel), "empty": ""})
	if err := os.WriteFile(filepath.Join(dir, "millhand.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "millhand", "run", "--report-dir", "run", "millhand.yaml")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "FAKE_KEY=sk-test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	requests := server.Requests()
	var all strings.Builder
	for _, r := range requests {
		all.Write(r.Body)
	}
	for _, text := range []string{"iVBORw0KGgo", "not found; available tools", "count_words", "Where is it?", `"result"`} {
		if !strings.Contains(all.String(), text) {
			t.Errorf("no request has %s", text)
		}
	}
	t.Logf("%d requests", len(requests))
	return requests
}

// checkTypes compiles a source with the SDKs.
func checkTypes(t *testing.T, sdks, name, source string) {
	t.Helper()
	file := filepath.Join(sdks, name+".ts")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(sdks, "node_modules", "typescript", "bin", "tsc"),
		"--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node", file)
	cmd.Dir = sdks
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const richManifest = `
version: 1
model: %s
providers: {%s: {kind: %s, base_url: "%s", key_env: FAKE_KEY}}
%s
profile: build
allow_dirty: true
repos: [{path: shop}]
tools:
  count_words: {description: Counts words., command: wc -w, parameters: {type: object, properties: {text: {type: string}}, required: [text]}}
tasks:
  - id: rich
    prompt: Look at @dot.png and do all of it.
    commit: false
    output: {schema: {type: object, properties: {result: {type: string}}, required: [result]}}
`

const richModel = `
version: 1
turns:
  - text: I will look.
    reasoning: What is there?
    calls:
      - {tool: list, args: {path: "."}}
      - {tool: read, args: {filePath: dot.png}}
      - {tool: read, args: {filePath: empty}}
      - {tool: bash, args: {command: "echo out; exit 3", description: Fail}}
      - {tool: nothing, args: {}}
      - {tool: count_words, args: {text: one two}}
    usage: {input: 100, output: 10}
  - calls:
      - {tool: edit, raw: "{\"filePath\": "}
      - {tool: task, args: {description: find it, prompt: "Where is it?", subagent_type: explore}}
      - {tool: task, args: {description: find more, prompt: "And what else?", subagent_type: general}}
    usage: {input: 100, output: 10}
  - text: '{"result": "done"}'
    usage: {input: 100, output: 10}
agents:
  explore:
    turns:
      - {calls: [{tool: grep, args: {pattern: one}}], usage: {input: 100, output: 10}}
      - {text: It is in a.txt., usage: {input: 100, output: 10}}
  general:
    turns:
      - {text: Nothing else., usage: {input: 100, output: 10}}
`
