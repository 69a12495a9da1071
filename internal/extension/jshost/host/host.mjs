// The process that runs tool files and plugins; the protocol is in the package's doc.go.
import { existsSync, readFileSync, writeSync } from "node:fs";
import { SourceMap, createRequire } from "node:module";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { format } from "node:util";

const here = fileURLToPath(new URL(".", import.meta.url));
const runtime = globalThis.Bun ? { name: "bun", version: globalThis.Bun.version } : { name: "node", version: process.version };
const calls = new Map(); // in progress, by id: their AbortControllers
const asked = new Map(); // requests to millhand without a response, by number
let asks = 0;
let tools = new Map();
let plugins = [];
let site = {};

function send(message) {
  let rest = Buffer.from(JSON.stringify(message) + "\n");
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(3, rest));
    } catch (err) {
      if (err.code !== "EAGAIN") process.exit(1); // millhand has ended
    }
  }
}

const log = (text) => process.stderr.write(text + "\n");

// The text of an error, with the location in the author's file.
function textOf(err) {
  if (!(err instanceof Error)) return typeof err === "string" ? err : format(err);
  const at = (err.stack ?? "")
    .split("\n")
    .slice(1)
    .filter((line) => !line.includes("node:"))
    .map((line) => original(line.match(/\(?((?:file:\/\/)?\/[^()]*:\d+:\d+)\)?$/)?.[1].replace(/^file:\/\//, "")))
    .find((location) => location && !location.startsWith(here));
  return (err.message || err.name) + (at ? ` (at ${at})` : "");
}

// The location in the author's file of one in a compiled file. Node has replaced it already, Bun does not.
function original(location) {
  const [, file, line, column] = location?.match(/^(.*):(\d+):(\d+)$/) ?? [];
  if (!file?.startsWith(here) || !existsSync(file + ".map")) return location;
  const map = JSON.parse(readFileSync(file + ".map", "utf8"));
  const { originalSource, originalLine, originalColumn } = new SourceMap(map).findEntry(line - 1, column - 1);
  return originalSource && `${originalSource.replace(/^(file:\/\/)?\/?/, "/")}:${originalLine + 1}:${originalColumn + 1}`;
}

// Metadata without what JSON can't represent: then nothing, because the call was run.
function plain(metadata) {
  try {
    return JSON.parse(JSON.stringify(metadata ?? {}));
  } catch (err) {
    log(`metadata is left out: ${textOf(err)}`);
    return {};
  }
}

function ask(id, params) {
  return new Promise((resolve, reject) => {
    asked.set(++asks, { resolve, reject });
    send({ ask: asks, for: id, params });
  });
}

const isTool = (value) => value !== null && typeof value === "object" && value.args !== undefined && "description" in value && typeof value.execute === "function";
const isZod = (value) => value !== null && typeof value === "object" && typeof value.safeParse === "function";

// The schema of a tool's arguments, and how they are checked.
async function argumentsOf(args) {
  const shape = isZod(args) ? args : Object.values(args).every(isZod) && Object.keys(args).length > 0 ? args : undefined;
  if (shape === undefined) {
    const required = Object.keys(args).filter((name) => args[name]?.required === true);
    const properties = Object.fromEntries(
      Object.entries(args).map(([name, value]) => {
        const { required: own, ...rest } = value ?? {};
        return [name, Array.isArray(own) ? value : rest];
      }),
    );
    return { schema: { type: "object", properties, required }, parse: (given) => given };
  }
  const { z } = await import("./zod.mjs");
  const current = isZod(shape) ? "_zod" in shape : Object.values(shape).every((value) => "_zod" in value);
  if (!current) return { schema: olderSchema(shape), checks: true, parse: (given) => olderParse(shape, given) };
  const object = isZod(shape) ? shape : z.object(shape);
  let schema;
  try {
    schema = z.toJSONSchema(object, { io: "input", unrepresentable: "any" });
  } catch (err) {
    log(`arguments of a tool have no JSON Schema: ${textOf(err)}`);
  }
  return {
    schema,
    checks: true,
    parse: async (given) => {
      const res = await object.safeParseAsync(given);
      if (!res.success) throw new Error("invalid arguments:\n" + z.prettifyError(res.error));
      return res.data;
    },
  };
}

// Zod 3 can't describe itself as a JSON Schema.
const olderSchema = (shape) => ({
  type: "object",
  properties: Object.fromEntries(Object.entries(shape).map(([name, value]) => [name, value.description ? { description: value.description } : {}])),
  required: Object.keys(shape).filter((name) => !shape[name].isOptional()),
});

async function olderParse(shape, given) {
  const out = {};
  for (const [name, value] of Object.entries(shape)) {
    const res = await value.safeParseAsync(given[name]);
    if (!res.success) throw new Error(`invalid argument ${name}: ${res.error.issues.map((issue) => issue.message).join("; ")}`);
    if (res.data !== undefined) out[name] = res.data;
  }
  return out;
}

async function addTool(name, definition, owner) {
  const { schema, parse, checks } = await argumentsOf(definition.args);
  tools.set(name, { definition, parse });
  return { name, description: String(definition.description ?? ""), schema, checks, owner };
}

const unsupported = ["auth", "provider"];
const idle = { "command.execute.before": "no commands are typed in an unattended run", "experimental.provider.small_model": "sessions have no second model", "experimental.compaction.autocontinue": "sessions always continue" };
const used = [
  "tool", "tool.execute.before", "tool.execute.after", "permission.ask", "shell.env", "event", "dispose", "config",
  "tool.definition", "chat.message", "chat.params", "chat.headers", "experimental.chat.system.transform", "experimental.chat.messages.transform", "experimental.session.compacting",
];

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isVersion2 = (value) => isObject(value) && typeof value.id === "string" && (typeof value.setup === "function" || typeof value.effect === "function");

// The functions of a plugin's module, with the names of its exports.
function servers(module) {
  if (isObject(module.default) && typeof module.default.server === "function") return [["default", module.default.server]];
  const all = Object.entries(module).filter(([name, value], index, list) => typeof value === "function" && list.findIndex(([, other]) => other === value) === index);
  if (all.length > 0) return all;
  throw new Error(Object.values(module).some(isVersion2) ? "it is written for OpenCode 2, whose plugins are not supported" : "it exports no plugin");
}

// The hooks of a plugin, and what is wrong with them. An export that is called as a plugin, because
// nothing shows what it is, may return something else.
function hooksOf(name, made, context) {
  if (made === undefined || made === null) return { made: {} };
  const names = isObject(made) ? Object.keys(made).filter((hook) => made[hook] !== undefined && made[hook] !== null) : [];
  const refused = names.find((hook) => unsupported.includes(hook) || (hook.startsWith("experimental.") && !used.includes(hook) && !(hook in idle)));
  if (made === context) return {};
  if (refused) throw new Error(`the hook ${refused} is not supported`);
  const known = names.filter((hook) => used.includes(hook) || hook in idle);
  if (!isObject(made) || (known.length === 0 && names.length > 0)) return { problems: [`its export ${name} returns no hooks, and is ignored`] };
  const problems = known.filter((hook) => hook in idle).map((hook) => `its hook ${hook} is never called: ${idle[hook]}`);
  const unknown = names.filter((hook) => !known.includes(hook));
  if (unknown.length > 0) problems.push(`unknown hooks are never called: ${unknown.join(", ")}`);
  return { made, problems };
}

function client() {
  const reject = (path) => () => {
    throw new Error(`client.${path} is not in millhand`);
  };
  const tree = (path, known) =>
    new Proxy(known, {
      get: (target, key) => {
        if (typeof key === "symbol" || key === "then") return undefined;
        if (key in target) return target[key];
        return new Proxy(reject(`${path}${key}`), { get: (_, inner) => (typeof inner === "symbol" || inner === "then" ? undefined : reject(`${path}${key}.${inner}`)) });
      },
    });
  // A toast is shown to nobody; all else asks a person to do something.
  const quiet = new Proxy({}, { get: (_, key) => (typeof key === "symbol" || key === "then" ? undefined : async () => ({ data: key === "showToast" })) });
  const app = { log: async ({ body = {} } = {}) => (log(`${body.level ?? "info"}: ${body.service ? body.service + ": " : ""}${body.message ?? ""}`), { data: true }) };
  return tree("", { app: tree("app.", app), tui: quiet });
}

const contextOf = () => ({
  client: client(), project: { id: site.project, worktree: site.worktree, time: { created: 0 } }, directory: site.directory, worktree: site.worktree,
  experimental_workspace: { register: () => { throw new Error("workspaces are not in millhand"); } }, serverUrl: new URL("http://localhost:0/"), get $() { return globalThis.Bun.$; },
});

async function addPlugin(entry, module) {
  const hooks = [];
  const found = [];
  const problems = [];
  for (const [name, server] of servers(module)) {
    const context = contextOf();
    const { made, problems: own = [] } = hooksOf(name, await server(context, entry.options), context);
    problems.push(...own);
    if (made === undefined) continue;
    if (made.config) {
      const before = JSON.stringify(site.config);
      const copy = structuredClone(site.config);
      await made.config(copy);
      if (JSON.stringify(copy) !== before) problems.push("its hook config changed the configuration, which has no effect");
    }
    for (const [name, definition] of Object.entries(made.tool ?? {})) {
      if (isTool(definition)) found.push(await addTool(name, definition, entry.name));
    }
    hooks.push(made);
  }
  if (hooks.length === 0) throw new Error("it exports no plugin");
  plugins[entry.index] = hooks;
  const has = (name) => hooks.some((made) => typeof made[name] === "function");
  return { tools: found, hooks: used.filter(has), problems };
}

async function addFile(entry, module) {
  const found = [];
  for (const [name, value] of Object.entries(module)) {
    if (isTool(value)) found.push(await addTool(name === "default" ? entry.base : `${entry.base}_${name}`, value, entry.name));
  }
  return { tools: found, hooks: [], problems: found.length > 0 ? [] : ["it exports no tool"] };
}

const methods = {
  async load(params) {
    const [major] = process.versions.node.split(".");
    if (major < 20) throw new Error(`Node.js ${process.versions.node} is too old: version 20 or later is required`);
    site = { ...params, config: params.config ?? {} };
    const loaded = [];
    for (const [index, entry] of params.entries.entries()) {
      try {
        const module = await import(`./${entry.module}`);
        loaded.push(await (entry.plugin ? addPlugin : addFile)({ ...entry, index }, module));
      } catch (err) {
        loaded.push({ error: textOf(err) });
      }
    }
    return { ...runtime, loaded };
  },

  async tool(params, id, signal) {
    const { definition, parse } = tools.get(params.name);
    const said = {};
    const context = {
      sessionID: params.session, messageID: `msg_${params.call}`, callID: params.call, agent: params.agent,
      directory: site.directory, worktree: site.worktree, abort: signal,
      metadata: ({ title, metadata } = {}) => {
        if (title !== undefined) said.title = String(title);
        if (metadata !== undefined) said.metadata = { ...said.metadata, ...metadata };
      },
      ask: (input) => ask(id, { permission: String(input?.permission ?? ""), patterns: (input?.patterns ?? []).map(String) }),
    };
    let res;
    try {
      res = await definition.execute(await parse(params.input), context);
    } catch (err) {
      return { title: said.title, metadata: plain(said.metadata), error: textOf(err) };
    }
    const out = { title: said.title, metadata: plain(said.metadata) };
    if (res === undefined || res === null) return out;
    if (typeof res === "string") return { ...out, output: res };
    if (typeof res === "object" && typeof res.output === "string") {
      return { title: String(res.title ?? said.title ?? ""), output: res.output, metadata: plain({ ...said.metadata, ...res.metadata }), attachments: res.attachments };
    }
    return { ...out, output: JSON.stringify(res) ?? String(res) };
  },

  // A throw denies the call.
  async before(params) {
    const output = { args: params.input };
    for (const hooks of plugins[params.plugin]) await hooks["tool.execute.before"]?.({ tool: params.tool, sessionID: params.session, callID: params.call }, output);
    return { input: output.args };
  },

  async after(params) {
    const output = { title: params.title, output: params.output, metadata: params.metadata ?? {} };
    for (const hooks of plugins[params.plugin]) await hooks["tool.execute.after"]?.({ tool: params.tool, sessionID: params.session, callID: params.call, args: params.input }, output);
    return { title: String(output.title ?? ""), output: String(output.output ?? ""), metadata: plain(output.metadata) };
  },

  async ask(params) {
    const output = { status: "allow" };
    const input = { id: params.call, type: params.permission, pattern: params.patterns, sessionID: params.session, messageID: `msg_${params.call}`, callID: params.call, title: params.permission, metadata: { tool: params.tool }, time: { created: Date.now() } };
    for (const hooks of plugins[params.plugin]) {
      await hooks["permission.ask"]?.(input, output);
      if (output.status !== "allow") return { status: String(output.status) }; // no later one can allow it
    }
    return { status: "allow" };
  },

  async env(params) {
    const output = { env: {} };
    for (const hooks of plugins[params.plugin]) await hooks["shell.env"]?.({ cwd: params.cwd, sessionID: params.session, callID: params.call }, output);
    return { env: Object.fromEntries(Object.entries(output.env ?? {}).map(([name, value]) => [name, String(value)])) };
  },

  // A hook that fails changes nothing.
  async change(params) {
    let { output } = params;
    const problems = [];
    for (const [index, hooks] of plugins.entries()) {
      for (const made of hooks ?? []) {
        try {
          const own = structuredClone(output);
          await made[params.hook]?.(params.input, own);
          output = JSON.parse(JSON.stringify(own));
        } catch (err) {
          problems.push(`plugin ${site.entries[index].name}: ${textOf(err)}`);
        }
      }
    }
    return { output, problems };
  },

  async event(params) {
    await each("event", { event: params });
  },

  async dispose() {
    await each("dispose");
  },
};

// Calls a hook of all plugins that only informs.
async function each(name, input) {
  for (const hooks of plugins.flat()) {
    try {
      await hooks?.[name]?.(input);
    } catch (err) {
      log(`hook ${name} failed: ${textOf(err)}`);
    }
  }
}

async function serve(message) {
  if (message.response !== undefined) {
    const waiting = asked.get(message.response);
    asked.delete(message.response);
    if (message.error) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve();
    return;
  }
  if (message.cancel !== undefined) return calls.get(message.cancel)?.abort();
  const controller = new AbortController();
  calls.set(message.id, controller);
  try {
    send({ id: message.id, result: (await methods[message.method](message.params ?? {}, message.id, controller.signal)) ?? {} });
  } catch (err) {
    send({ id: message.id, error: { message: textOf(err) } });
  } finally {
    calls.delete(message.id);
  }
}

process.on("unhandledRejection", (err) => log(`unhandled rejection: ${textOf(err)}`));
if (runtime.name === "node") {
  const set = (value) => Object.defineProperty(globalThis, "Bun", { value, configurable: true, enumerable: true, writable: true });
  // Loaded by the first use, because most files use none of it.
  Object.defineProperty(globalThis, "Bun", { get: () => (set(createRequire(import.meta.url)("./bun-host.cjs")), globalThis.Bun), set, configurable: true, enumerable: true });
}
let line = []; // the start of a line, in chunks
function receive(text) {
  const [first, ...others] = text.split("\n");
  line.push(first);
  for (const next of others) {
    serve(JSON.parse(line.join("")));
    line = [next];
  }
}
if (runtime.name === "bun") {
  const decoder = new TextDecoder();
  for await (const chunk of globalThis.Bun.file(4).stream()) receive(decoder.decode(chunk, { stream: true }));
  process.exit(0);
}
new Socket({ fd: 4, readable: true, writable: false }).setEncoding("utf8").on("data", receive).on("close", () => process.exit(0));
