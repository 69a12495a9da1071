//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/mcptest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// extensionCalls is the number of calls of a server in one run, one in each turn.
const extensionCalls = 100

// extensionServer runs this program as an MCP server that needs some time to start.
func extensionServer(delay time.Duration) int {
	time.Sleep(delay)
	return mcptest.Main(nil, os.Environ, os.Exit)
}

// extended is a run with extensions.
type extended struct {
	name    string
	servers []time.Duration     // how long each needs to start
	host    bool                // a tool file
	call    func(turn int) call // nil: the last turn is the only one
	took    []usage
}

// extensions measures what MCP servers and tool files cost, beside bare clients and Node.
func (b *bench) extensions(ctx context.Context, runs int) ([]row, error) {
	nine := make([]time.Duration, 9)
	none, host := &extended{name: "none"}, &extended{name: "a tool file", host: true}
	slow := &extended{name: "three servers", servers: []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}}
	one, many := &extended{name: "one server", servers: nine[:1]}, &extended{name: "nine servers", servers: nine}
	todo := func(turn int) call {
		item := map[string]any{"content": fmt.Sprint(turn), "status": "pending", "priority": "low"}
		return call{"todowrite", map[string]any{"todos": []any{item}}}
	}
	echo := func(turn int) call { return call{"s0_echo", map[string]any{"text": fmt.Sprint("hello ", turn)}} }
	plain, calls := &extended{name: "calls of todowrite", servers: nine[:1], call: todo}, &extended{name: "calls of a server", servers: nine[:1], call: echo}
	all := []*extended{none, slow, one, many, plain, calls}
	node, err := exec.LookPath("node")
	if err == nil {
		all = append(all, host)
	}
	var nodes, starts, bare series
	for round := range runs + 1 {
		for _, e := range all {
			took, err := b.extended(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			fmt.Fprintf(os.Stderr, "extensions, round %d of %d, %s: first request after %s, %s\n", round, runs, e.name, took.first.Round(time.Millisecond), took.wall.Round(time.Millisecond))
			if round > 0 {
				e.took = append(e.took, took)
			}
		}
		start, call, err := b.bareClient(ctx, slow.servers[len(slow.servers)-1])
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if node != "" {
			if _, err := output(b.command(ctx, b.dir, node, "-e", "0")); err != nil {
				return nil, err
			}
		}
		if round > 0 {
			starts, bare, nodes = append(starts, millis(start)), append(bare, millis(call)), append(nodes, millis(time.Since(began)))
		}
	}
	first := func(u usage) float64 { return millis(u.first) }
	rest := func(u usage) float64 { return millis(u.wall-u.first) / extensionCalls }
	peak := func(u usage) float64 { return mebibytes(u.peak) }
	start := row{figure: "three MCP servers, the slowest starts in 200 ms: start to first request, more than without", unit: "ms", millhand: minus(each(slow.took, first), each(none.took, first)), floor: starts}
	more := row{figure: "the same, more than 1.1 times a bare client of the slowest", unit: "ms", goal: 30}
	for i := range starts {
		more.millhand = append(more.millhand, start.millhand[i]-1.1*starts[i])
	}
	round := row{figure: "turn with a call of a server, more than with a call of todowrite, beside a bare client", unit: "ms", millhand: minus(each(calls.took, rest), each(plain.took, rest)), floor: bare}
	rows := []row{
		start, more, round,
		{figure: "the same, more than a bare client", unit: "ms", goal: 2, millhand: minus(round.millhand, bare)},
		{figure: "memory of millhand for each MCP server: of nine, more than of one", unit: "MiB", goal: 4, millhand: scaled(minus(each(many.took, peak), each(one.took, peak)), 1.0/8)},
	}
	if node != "" {
		started := row{figure: "a tool file: start to first request, more than without, beside `node -e 0`", unit: "ms", millhand: minus(each(host.took, first), each(none.took, first)), floor: nodes}
		rows = append(rows, started, row{figure: "the same, more than Node", unit: "ms", goal: 40, millhand: minus(started.millhand, nodes)})
	}
	return rows, nil
}

func minus(a, b series) series {
	var s series
	for i := range a {
		s = append(s, a[i]-b[i])
	}
	return s
}

func scaled(a series, by float64) series {
	var s series
	for _, v := range a {
		s = append(s, v*by)
	}
	return s
}

// extended runs a session with extensions without a commit, on a fresh copy of the repository.
func (b *bench) extended(ctx context.Context, e *extended) (usage, error) {
	if err := b.fresh(ctx); err != nil {
		return usage{}, err
	}
	var list []turn
	for i := range extensionCalls {
		if e.call != nil {
			list = append(list, turn{Calls: []call{e.call(i)}, Usage: usageOf(i)})
		}
	}
	text, err := json.Marshal(map[string]any{"version": 1, "turns": append(list, turn{Text: "Done.", Usage: usageOf(0)})})
	if err != nil {
		return usage{}, err
	}
	s, err := script.Parse(text, "the script of a session with extensions")
	if err != nil {
		return usage{}, err
	}
	config, err := json.Marshal(b.extendedManifest(e))
	if err != nil {
		return usage{}, err
	}
	file := b.repo + ".yaml"
	err = errors.Join(os.WriteFile(file, config, 0o644), os.WriteFile(filepath.Join(b.dir, "count.ts"), []byte(toolFile), 0o644))
	if err != nil {
		return usage{}, err
	}
	server := wiretest.New(s)
	b.endpoint.play(server)
	took, err := b.endpoint.measure(b.command(ctx, b.repo, b.millhand, "run", file, "--report-dir", b.repo+"-report"))
	if err == nil && server.Served() != len(list)+1 {
		err = fmt.Errorf("sent %d requests, want %d", server.Served(), len(list)+1)
	}
	return took, errors.Join(append(server.Problems(), err)...)
}

const toolFile = `import { tool } from "@opencode-ai/plugin"
export default tool({
  description: "Counts",
  args: { n: tool.schema.number().default(1) },
  async execute({ n }: { n: number }) { return String(n) },
})
`

// extendedManifest returns the manifest of a run with extensions, as JSON, which is YAML.
func (b *bench) extendedManifest(e *extended) map[string]any {
	m := map[string]any{
		"version": 1, "name": "bench", "model": "openai/gpt-5-mini", "profile": "extended", "repos": []any{map[string]any{"path": b.repo}},
		"profiles": map[string]any{"extended": map[string]any{"extends": "build", "permission": map[string]any{"s?_*": "allow", "count": "allow"}}},
		"limits":   map[string]any{"turns": 10000, "cost": 10000, "time": "1h", "tokens": 1000000000000},
		"tasks":    []any{map[string]any{"id": "work", "prompt": instruction, "commit": false}},
	}
	servers := map[string]any{}
	for i, delay := range e.servers {
		servers[fmt.Sprintf("s%d", i)] = map[string]any{"type": "local", "command": b.serverCommand(delay), "read": []string{b.self}, "tools": map[string]any{"*": false, "echo": true}}
	}
	if len(servers) > 0 {
		m["mcp"] = servers
	}
	if e.host {
		m["tools_from"] = []string{"count.ts"}
	}
	return m
}

func (b *bench) serverCommand(delay time.Duration) []string {
	return []string{b.self, "-server", delay.String()}
}

// bareClient measures how long a server needs until it has listed its tools, and a call of it.
func (b *bench) bareClient(ctx context.Context, delay time.Duration) (start, call time.Duration, err error) {
	args := b.serverCommand(delay)
	cmd := b.command(ctx, b.dir, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	lines := bufio.NewReader(out)
	exchange := func(method, params string) error {
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params)
		if err != nil {
			return err
		}
		line, err := lines.ReadString('\n')
		if err == nil && !strings.Contains(line, `"result"`) {
			err = fmt.Errorf("%s: %s", method, line)
		}
		return err
	}
	err = errors.Join(exchange("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`), exchange("tools/list", `{}`))
	start = time.Since(began)
	began = time.Now()
	for range extensionCalls {
		if err == nil {
			err = exchange("tools/call", `{"name":"echo","arguments":{"text":"hello"}}`)
		}
	}
	call = time.Since(began) / extensionCalls
	return start, call, errors.Join(err, in.Close(), cmd.Wait())
}
