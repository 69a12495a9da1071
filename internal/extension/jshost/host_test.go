package jshost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

// start starts a host of files, given with their names; those that contain "plugin" are plugins.
func start(t *testing.T, files map[string]string, entries ...string) (h *Host, loaded []Loaded) {
	t.Helper()
	return startWith(t, "auto", files, entries...)
}

func startWith(t *testing.T, runtime string, files map[string]string, entries ...string) (h *Host, loaded []Loaded) {
	t.Helper()
	runtime, err := FindRuntime(runtime, os.Getenv("PATH"))
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var all []Entry
	for _, e := range entries {
		all = append(all, Entry{Path: filepath.Join(dir, e), Name: e})
	}
	p, err := Compile(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := p.Write(out); err != nil {
		t.Fatal(err)
	}
	load := Load{Directory: dir, Worktree: dir}
	for i, e := range entries {
		base := strings.TrimSuffix(filepath.Base(e), filepath.Ext(e))
		load.Entries = append(load.Entries, Module{Module: p.Modules[i], Name: e, Base: base, Plugin: strings.Contains(e, "plugin")})
	}
	h, loaded, err = Start(t.Context(), Config{
		Command: proc.Command{Args: Command(runtime, out), Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}},
		Load:    load, CallTimeout: 10 * time.Minute, HookTimeout: 10 * time.Minute, Now: time.Now,
	})
	if err != nil {
		t.Fatalf("%v: %s", err, h.Info().Stderr)
	}
	t.Cleanup(h.Close)
	return h, loaded
}

func call(t *testing.T, h *Host, name, input string) (Result, error) {
	t.Helper()
	return h.Call(t.Context(), ToolCall{Name: name, ID: "c1", Session: "s1", Agent: "build", Input: json.RawMessage(input)}, func(p Permission) error {
		if p.Permission == "read" && len(p.Patterns) == 1 {
			return nil
		}
		return errors.New("denied: " + p.Permission)
	})
}

var toolFiles = map[string]string{
	"tools/count.ts": `import { tool } from "@opencode-ai/plugin";
import { double, location } from "../lib/double.js";
import data from "./data.json";
const late = await Promise.resolve(data.unit);
export default tool({
  description: "Counts",
  args: { n: tool.schema.coerce.number().default(2).describe("how many") },
  async execute(args, context) {
    console.log("counting", args);
    process.stdout.write("to standard output\n");
    context.metadata({ title: "counted" });
    return double(args.n) + " " + late + " " + context.agent + " " + context.callID + " " + (location === import.meta.url.replace("tools/count.ts", "lib/double.ts"));
  },
});
export const fails: any = {
  description: "Fails", args: {},
  execute() {
    throw new Error("no luck");
  },
};
export const asks = { description: "Asks", args: { what: { type: "string", required: true } }, async execute(args, context) {
  await context.ask({ permission: args.what, patterns: ["x"], always: [], metadata: {} });
  return { output: "may " + args.what, title: "t", attachments: [{ type: "file", mime: "image/png", url: "data:image/png;base64,AA==" }] };
} };
export const hangs = { description: "Hangs", args: {}, execute: () => { while (true); } };
export const waits = { description: "Waits", args: {}, execute: (_, { abort }) => new Promise((resolve) => abort.addEventListener("abort", () => resolve("aborted"))) };
export const exits = { description: "Exits", args: {}, execute: () => process.exit(3) };
export const five = { description: "Five", args: {}, execute: () => 5 };
export const nothing = { description: "Nothing", args: {}, execute() {} };
export const shell = { description: "Shell", args: {}, execute: () => Bun.$` + "`echo ${\"a; b\"}`" + `.text() };
export const helper = () => 1;
`,
	"tools/data.json": `{"unit": "sheep"}`,
	"lib/double.ts":   `export const double = (n: number): number => n * 2; export const location = import.meta.url;`,
}

func TestToolFiles(t *testing.T) {
	h, loaded := start(t, toolFiles, "tools/count.ts")
	var names []string
	for _, tool := range loaded[0].Tools {
		names = append(names, tool.Name)
	}
	if want := "count_asks count count_exits count_fails count_five count_hangs count_nothing count_shell count_waits"; strings.Join(names, " ") != want || loaded[0].Error != "" {
		t.Fatalf("tools %s, error %s", names, loaded[0].Error)
	}
	if s := string(loaded[0].Tools[1].Schema); !strings.Contains(s, `"description":"how many"`) || strings.Contains(s, `"required":["n"]`) {
		t.Errorf("schema %s", s)
	}
	for _, tt := range []struct{ name, input, want, err string }{
		{"count", `{"n": "3"}`, "6 sheep build c1 true", ""},
		{"count", `{}`, "4 sheep build c1 true", ""},
		{"count", `{"n": "many"}`, "", "invalid arguments"},
		{"count_fails", `{}`, "", "no luck (at "},
		{"count_asks", `{"what": "read"}`, "may read", ""},
		{"count_asks", `{"what": "bash"}`, "", "denied: bash"},
		{"count_five", `{}`, "5", ""},
		{"count_nothing", `{}`, "", ""},
		{"count_shell", `{}`, "a; b\n", ""},
	} {
		res, err := call(t, h, tt.name, tt.input)
		switch {
		case tt.err == "" && (err != nil || res.Output != tt.want):
			t.Errorf("%s %s: %+v, %v", tt.name, tt.input, res, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s %s: %v", tt.name, tt.input, err)
		case tt.name == "count" && err == nil && res.Title != "counted":
			t.Errorf("title %q", res.Title)
		case tt.name == "count_fails" && !regexp.MustCompile(` \(at /.*/tools/count\.ts:18:1[15]\)$`).MatchString(err.Error()): // new Error, or Error for Bun
			t.Errorf("location: %v", err)
		case tt.want == "may read" && (len(res.Attachments) != 1 || res.Attachments[0].MIME != "image/png"):
			t.Errorf("attachments %+v", res.Attachments)
		}
	}
	logged(t, h, "to standard output")
	logged(t, h, "counting {")
	if i := h.Info(); !slices.Contains(runtimes, i.Name) || i.Version == "" || i.Calls != 9 || i.Errors != 3 {
		t.Errorf("info %+v", i)
	}
}

// A call that does not end is aborted; a process that ignores that is ended, and started again.
func TestHostsThatHangOrEnd(t *testing.T) {
	h, _ := start(t, toolFiles, "tools/count.ts")
	for _, tt := range []struct {
		name, err string
		restarts  int
	}{
		{"count_waits", "timed out after 300ms", 0},
		{"count_five", "", 0},
		{"count_hangs", "timed out after 300ms", 0},
		{"count_five", "", 1},
		{"count_exits", "it exited with code 3", 1},
		{"count_five", "", 2},
		{"count_exits", "it exited with code 3", 2},
		{"count_exits", "it exited with code 3", 3},
		{"count_five", "has ended 4 times in this job", 3},
	} {
		h.config.CallTimeout = 10 * time.Minute
		if strings.Contains(tt.err, "timed out") {
			h.config.CallTimeout = 300 * time.Millisecond
		}
		if h.live.grace = abortGrace; tt.name == "count_waits" { // it ends when it is aborted
			h.live.grace = 10 * time.Minute
		}
		_, err := call(t, h, tt.name, `{}`)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !errors.As(err, new(*Fault)) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := h.Info().Restarts; got != tt.restarts {
			t.Errorf("%s: %d restarts, want %d", tt.name, got, tt.restarts)
		}
	}
}

var pluginFiles = map[string]string{
	"plugin/guard.ts": `import type { Plugin } from "@opencode-ai/plugin";
import { tool } from "@opencode-ai/plugin/tool";
import { writeFileSync } from "node:fs";
export const Guard: Plugin = async ({ client, directory, $ }) => {
  await client.app.log({ body: { service: "guard", level: "info", message: "ready" } });
  await client.tui.showToast({ body: { message: "x" } });
  const seen: string[] = [];
  return {
    "tool.execute.before": async (input, output) => {
      if (output.args.command?.includes("reset --hard")) throw new Error("no resets");
      if (input.tool === "bash") output.args.command += " # seen";
      if (input.tool === "hang") while (true);
    },
    "tool.execute.after": async (input, output) => { output.title = "after " + input.args.command; output.output += "\nchecked"; output.metadata.b = 2; },
    "permission.ask": async (input, output) => { if (input.pattern[0].endsWith(".env")) output.status = "deny"; if (input.pattern[0] === "asks") output.status = "ask"; },
    "shell.env": async (input, output) => { output.env.FROM_PLUGIN = input.cwd; },
    event: async ({ event }) => { seen.push(event.type); },
    dispose: async () => writeFileSync(directory + "/disposed", seen.join()),
    config: async (config) => { config.command = {}; },
    tool: { events: tool({ description: "Events", args: {}, execute: async () => seen.join() }) },
    other: async () => {},
  };
};
export const Approves = async () => ({ "permission.ask": async (input, output) => { output.status = "allow"; } });
`,
	"plugin/session.js": `export default { id: "x", server: async ({ client }) => { await client.session.prompt({}); } };`,
	"plugin/auth.js":    `export const A = async () => ({ auth: {} });`,
	"plugin/none.js":    `export const a = 1;`,
}

// What packages export beside and instead of a plugin.
func TestExportsOfPlugins(t *testing.T) {
	for name, tt := range map[string]struct{ text, err, problems, hooks string }{
		"helpers":     {`export const same = (of) => of; export const text = () => "abc"; export const list = () => ["event"]; export const A = async () => ({ event() {} });`, "", "its export list returns no hooks, and is ignored; its export text returns no hooks, and is ignored", "event"},
		"the same":    {`export const same = (of) => of; export const A = async () => ({ event() {} }); export default A;`, "", "", "event"},
		"no plugin":   {`export const same = (of) => of;`, "it exports no plugin", "", ""},
		"no hooks":    {`export const A = async () => {};`, "", "", ""},
		"unknown":     {`export const A = async () => ({ event() {}, one() {}, two() {} });`, "", "unknown hooks are never called: one, two", "event"},
		"not set":     {`export const A = async () => ({ event() {}, auth: undefined, provider: null });`, "", "", "event"},
		"commands":    {`export const A = async () => ({ event() {}, "command.execute.before": async () => {} });`, "", "its hook command.execute.before is never called: no commands are typed in an unattended run", "event"},
		"only that":   {`export const A = async () => ({ "command.execute.before": async () => {} });`, "", "its hook command.execute.before is never called: no commands are typed in an unattended run", ""},
		"provider":    {`export const A = async () => ({ event() {}, provider: {} });`, "the hook provider is not supported", "", ""},
		"version 2":   {`import { Plugin } from "@opencode/plugin"; export default Plugin.define({ id: "x", setup() {} });`, "it is written for OpenCode 2, whose plugins are not supported", "", ""},
		"its tools":   {`import { Plugin, Tool } from "@opencode/plugin/tool"; const t = Tool.make({}); export default Plugin.define({ id: "x", setup() {} });`, "it is written for OpenCode 2, whose plugins are not supported", "", ""},
		"of promises": {`import { define } from "@opencode-ai/plugin/v2/promise"; export default define({ id: "x", setup() {} });`, "it is written for OpenCode 2, whose plugins are not supported", "", ""},
		"of effects":  {`export const P = { id: "x", effect: () => {} };`, "it is written for OpenCode 2, whose plugins are not supported", "", ""},
		"both":        {`import { Plugin } from "@opencode/plugin"; export default Plugin.define({ id: "x", setup() {}, server: async () => ({ event() {} }) });`, "", "", "event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, loaded := start(t, map[string]string{"plugin/p.js": tt.text}, "plugin/p.js")
			l := loaded[0]
			if got, _, _ := strings.Cut(l.Error, " (at "); got != tt.err || strings.Join(l.Problems, "; ") != tt.problems || strings.Join(l.Hooks, " ") != tt.hooks {
				t.Errorf("error %q, problems %q, hooks %q", l.Error, l.Problems, l.Hooks)
			}
		})
	}
}

// logged waits until a text is in standard error, which is read concurrently.
func logged(t *testing.T, h *Host, text string) {
	t.Helper()
	for began := time.Now(); !strings.Contains(h.Info().Stderr, text); time.Sleep(time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("%q is not in %q", text, h.Info().Stderr)
		}
	}
}

func TestPlugins(t *testing.T) {
	h, loaded := start(t, pluginFiles, "plugin/guard.ts", "plugin/session.js", "plugin/auth.js", "plugin/none.js")
	for i, want := range []string{"", "client.session.prompt is not in millhand", "the hook auth is not supported", "it exports no plugin"} {
		if got := loaded[i].Error; want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("plugin %d: error %q, want %q", i, got, want)
		}
	}
	if got := strings.Join(loaded[0].Problems, "; "); got != "unknown hooks are never called: other; its hook config changed the configuration, which has no effect" {
		t.Errorf("problems %q", got)
	}
	if got := strings.Join(loaded[0].Hooks, " "); got != "tool.execute.before tool.execute.after permission.ask shell.env event dispose config" {
		t.Errorf("hooks %q", got)
	}
	logged(t, h, "info: guard: ready")
	ctx := t.Context()
	c := HookedCall{Tool: "bash", ID: "c1", Session: "s1", Input: json.RawMessage(`{"command":"ls"}`)}
	if got, err := h.before(ctx, c); err != nil || string(got) != `{"command":"ls # seen"}` {
		t.Errorf("before: %s, %v", got, err)
	}
	if got, err := h.after(ctx, c, Result{Title: "t", Output: "o", Metadata: json.RawMessage(`{"a":1}`)}); err != nil || got.Title != "after ls" || got.Output != "o\nchecked" || string(got.Metadata) != `{"a":1,"b":2}` {
		t.Errorf("after: %+v, %v", got, err)
	}
	for pattern, want := range map[string]string{"a.env": "deny", "a.txt": Allowed, "asks": "ask"} {
		if got, err := h.ask(ctx, c, Permission{"read", []string{pattern}}); err != nil || got != want {
			t.Errorf("ask %s: %s, %v", pattern, got, err)
		}
	}
	p := h.Plugin(0, "s1")
	for pattern, want := range map[string]string{"a.env": "denied by its hook permission.ask", "a.txt": "<nil>", "asks": "its hook permission.ask asks for approval, which nobody can give in an unattended run"} {
		if err := p.Ask(ctx, "c1", "bash", c.Input, permission.Need("read", pattern)); fmt.Sprint(err) != want {
			t.Errorf("ask %s: %v", pattern, err)
		}
	}
	if env, err := h.env(ctx, c, "/w"); err != nil || env["FROM_PLUGIN"] != "/w" {
		t.Errorf("env: %v, %v", env, err)
	}
	if err := h.Tell(ctx, map[string]any{"type": "session.idle"}); err != nil {
		t.Error(err)
	}
	if res, err := call(t, h, "events", `{}`); err != nil || res.Output != "session.idle" {
		t.Errorf("events: %+v, %v", res, err)
	}
	c.Input = json.RawMessage(`{"command":"git reset --hard"}`)
	if _, err := h.before(ctx, c); !errors.As(err, new(*CallError)) || !strings.HasPrefix(err.Error(), "no resets (at ") {
		t.Errorf("a denial: %v", err)
	}
	h.config.HookTimeout = 300 * time.Millisecond
	h.faults = 1
	var failed error
	h.config.Fail = func(err error) { failed = err }
	if _, err := p.Before(ctx, "c2", "hang", json.RawMessage(`{}`)); !errors.As(err, new(*Fault)) || failed == nil || failed.Error() != "plugin plugin/guard.ts: "+err.Error()+", for the second time" {
		t.Errorf("a hook that hangs: %v, and the job %v", err, failed)
	}
	h.config.HookTimeout = 10 * time.Minute
	h.Pause()
	if res, err := call(t, h, "events", `{}`); err != nil || res.Output != "" || h.Info().Restarts != 1 { // that of the hook that hung
		t.Errorf("after a pause: %+v, %v, %+v", res, err, h.Info())
	}
	h.live.grace = 10 * time.Minute
	h.Close()
	if _, err := os.Stat(filepath.Join(h.config.Load.Directory, "disposed")); err != nil {
		t.Error(err)
	}
}

// Hooks that change what is sent run in the order of the plugins, and one that fails changes nothing.
func TestHooksThatChangeTheirOutput(t *testing.T) {
	h, loaded := start(t, map[string]string{
		"plugin/one.js":   `export const A = async () => ({ "chat.headers": async (input, output) => { output.headers.a = input.agent; }, "tool.definition": async () => {} });`,
		"plugin/two.js":   `export const A = async () => ({ "chat.headers": async (input, output) => { output.headers.a = "lost"; throw new Error("no"); } });`,
		"plugin/three.js": `export const A = async () => ({ "chat.headers": async (input, output) => { output.headers.a = output.headers; } });`,
		"plugin/four.js":  `export const A = async () => ({ "chat.headers": async (input, output) => { output.headers.b = "2"; } });`,
		"plugin/five.js":  `export const A = async () => ({ "experimental.text.complete": async () => {} });`,
	}, "plugin/one.js", "plugin/two.js", "plugin/three.js", "plugin/four.js", "plugin/five.js")
	if got := loaded[4].Error; got != "the hook experimental.text.complete is not supported" || strings.Join(loaded[0].Hooks, " ") != "tool.definition chat.headers" {
		t.Errorf("error %q, hooks %q", got, loaded[0].Hooks)
	}
	ctx := t.Context()
	type output struct {
		Headers map[string]string `json:"headers"`
	}
	made, problems, err := h.Change(ctx, "chat.headers", map[string]any{"agent": "build"}, output{map[string]string{}})
	if err != nil || string(made) != `{"headers":{"a":"build","b":"2"}}` {
		t.Errorf("%s, %v", made, err)
	}
	if len(problems) != 2 || !strings.HasPrefix(problems[0], "plugin plugin/two.js: no (at ") || !strings.HasPrefix(problems[1], "plugin plugin/three.js: ") {
		t.Errorf("problems %q", problems)
	}
}

// What only Bun has is imported, and throws under Node when it is used.
func TestImportsOfBun(t *testing.T) {
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			if _, err := FindRuntime(runtime, os.Getenv("PATH")); err != nil {
				t.Skip(err)
			}
			h, loaded := startWith(t, runtime, map[string]string{"tools/b.ts": `import { Glob, which, $ } from "bun";
import { Database } from "bun:sqlite";
import * as all from "bun";
import Default, { inspect as shown } from "bun";
const late = await import("bun");
export const used = { description: "Uses", args: {}, execute: async () => [typeof which("sh"), typeof all.file, typeof Default.which, typeof late.spawn, (await $` + "`echo a`" + `.text())] };
export const glob = { description: "Glob", args: {}, execute: () => typeof new Glob("*") };
export const inspect = { description: "Inspect", args: {}, execute: () => shown({}) };
export const data = { description: "Data", args: {}, execute: () => typeof new Database(":memory:") };
`}, "tools/b.ts")
			if loaded[0].Error != "" {
				t.Fatal(loaded[0].Error)
			}
			for name, want := range map[string]struct{ node, bun string }{
				"b_used":    {`["string","function","function","function","a\n"]`, `["string","function","function","function","a\n"]`},
				"b_glob":    {"Bun.Glob is not available under Node: set js.runtime to bun", "object"},
				"b_inspect": {"Bun.inspect is not available under Node: set js.runtime to bun", "{}"},
				"b_data":    {"bun:sqlite is not available under Node: set js.runtime to bun", "object"},
			} {
				text := map[string]string{"node": want.node, "bun": want.bun}[runtime]
				res, err := call(t, h, name, `{}`)
				if err != nil {
					res.Output = err.Error()
				}
				if !strings.HasPrefix(res.Output, text) {
					t.Errorf("%s: %q, %v", name, res.Output, err)
				}
			}
		})
	}
}

// What is loaded by its first use is there: the functions of Bun, and the translations of zod.
func TestWhatIsLoadedAtItsFirstUseIsFound(t *testing.T) {
	h, _ := start(t, map[string]string{"tools/late.ts": `import { z } from "zod";
export const bun = { description: "Bun", args: {}, execute: () => [typeof Bun, "Bun" in globalThis, typeof globalThis.Bun.which] };
export const german = { description: "Texts", args: {}, execute: () => {
  z.config(z.locales.de());
  const { error } = z.string().safeParse(1);
  return [Object.keys(z.locales).length > 40, z.prettifyError(error!)];
} };
export const size = { description: "Size", args: { text: { type: "string" } }, execute: ({ text }) => text.length + text.slice(0, 2) };
`}, "tools/late.ts")
	long := strings.Repeat("ä€", 1<<20)
	for _, tt := range []struct{ name, input, want string }{
		{"late_bun", `{}`, `["object",true,"function"]`},
		{"late_german", `{}`, `[true,"✖ Ungültige Eingabe: erwartet string, erhalten Zahl"]`},
		{"late_size", `{"text": "` + long + `"}`, "2097152ä€"},
	} {
		if res, err := call(t, h, tt.name, tt.input); err != nil || res.Output != tt.want {
			t.Errorf("%s: %.80s %v, want %s", tt.name, res.Output, err, tt.want)
		}
	}
}

// A decision about what a tool asks for calls hooks of the same process, which may never end.
func TestHooksThatHangWhileAToolAsks(t *testing.T) {
	files := map[string]string{
		"tools/count.ts":   toolFiles["tools/count.ts"],
		"tools/data.json":  toolFiles["tools/data.json"],
		"lib/double.ts":    toolFiles["lib/double.ts"],
		"plugin/waits.js":  `export const Waits = async () => ({ "permission.ask": () => new Promise(() => {}) });`,
		"plugin/second.js": `export const Second = async () => ({ "permission.ask": () => {} });`,
	}
	h, _ := start(t, files, "tools/count.ts", "plugin/waits.js", "plugin/second.js")
	var decided []error
	_, err := h.Call(t.Context(), ToolCall{Name: "count_asks", Input: json.RawMessage(`{"what": "read"}`)}, func(p Permission) error {
		for plugin, limit := range []time.Duration{100 * time.Millisecond, 10 * time.Minute} { // the first hangs
			h.config.HookTimeout = limit
			_, err := h.ask(t.Context(), HookedCall{Plugin: 1 + plugin}, p)
			decided = append(decided, err)
		}
		return decided[0]
	})
	if len(decided) != 2 || !errors.As(decided[0], new(*Fault)) || decided[1] != nil || err == nil {
		t.Errorf("%v, %v", decided, err)
	}
}
