// Under Node, the functions of Bun that tool files and plugins use most.
"use strict";
const { spawn: start, spawnSync: startSync } = require("node:child_process");
const { accessSync, constants, existsSync, statSync } = require("node:fs");
const { copyFile, mkdir, readFile, stat, writeFile } = require("node:fs/promises");
const path = require("node:path");
const { Readable } = require("node:stream");
const { fileURLToPath } = require("node:url");

class ShellError extends Error {
  constructor(output) {
    super(`Failed with exit code ${output.exitCode}`);
    this.name = "ShellError";
    this.info = { exitCode: output.exitCode, stdout: output.stdout, stderr: output.stderr };
    Object.assign(this, this.info);
  }
  text(encoding) { return this.stdout.toString(encoding); }
  json() { return JSON.parse(this.text()); }
}

class ShellOutput {
  constructor(exitCode, stdout, stderr) {
    Object.assign(this, { exitCode, stdout, stderr });
  }
  text(encoding) { return this.stdout.toString(encoding); }
  json() { return JSON.parse(this.text()); }
  bytes() { return new Uint8Array(this.stdout); }
  arrayBuffer() { return this.bytes().buffer; }
  blob() { return new Blob([this.stdout]); }
}

const escape = (value) => {
  const text = String(value);
  return /^[A-Za-z0-9_./:=@%^,+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
};

function word(value) {
  if (Array.isArray(value)) return value.map(word).join(" ");
  if (value !== null && typeof value === "object" && "raw" in value) return String(value.raw);
  if (value !== null && typeof value === "object" && typeof value.name === "string" && value[fileMark]) return escape(value.name);
  if (value instanceof Uint8Array || value instanceof ReadableStream || value instanceof Response) throw notHere("$ with streams and buffers");
  return escape(value);
}

function collect(child) {
  return new Promise((resolve, reject) => {
    const output = { stdout: [], stderr: [] };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (data) => output[name].push(data));
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(new ShellOutput(code ?? (signal ? 128 : 1), Buffer.concat(output.stdout), Buffer.concat(output.stderr))));
  });
}

class ShellPromise extends Promise {
  static get [Symbol.species]() { return Promise; }

  constructor(line, settings) {
    let begin;
    super((resolve, reject) => {
      begin = () => {
        const child = start("bash", ["-c", line], { cwd: this.dir, env: this.variables, stdio: ["ignore", "pipe", "pipe"] });
        collect(child).then((output) => {
          if (!this.silent) {
            process.stderr.write(output.stdout);
            process.stderr.write(output.stderr);
          }
          if (output.exitCode !== 0 && this.fails) reject(new ShellError(output));
          else resolve(output);
        }, reject);
      };
    });
    this.dir = settings.dir;
    this.variables = settings.variables ?? process.env;
    this.fails = settings.fails;
    this.silent = false;
    queueMicrotask(begin); // after the calls that set it up
  }
  cwd(dir) { this.dir = dir; return this; }
  env(variables) { this.variables = variables ?? process.env; return this; }
  quiet() { this.silent = true; return this; }
  nothrow() { this.fails = false; return this; }
  throws(yes) { this.fails = Boolean(yes); return this; }
  async text(encoding) { return (await this.quiet()).text(encoding); }
  async json() { return (await this.quiet()).json(); }
  async bytes() { return (await this.quiet()).bytes(); }
  async arrayBuffer() { return (await this.quiet()).arrayBuffer(); }
  async blob() { return (await this.quiet()).blob(); }
  async *lines() {
    const text = await this.text();
    yield* (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  }
}

function shell() {
  const settings = { dir: undefined, variables: undefined, fails: true };
  const $ = (strings, ...values) => new ShellPromise(strings.raw.map((text, i) => text + (i < values.length ? word(values[i]) : "")).join(""), settings);
  return Object.assign($, {
    escape,
    cwd: (dir) => ((settings.dir = dir), $),
    env: (variables) => ((settings.variables = variables), $),
    nothrow: () => ((settings.fails = false), $),
    throws: (yes) => ((settings.fails = Boolean(yes)), $),
    braces: () => { throw notHere("$.braces"); },
    Shell: shell, ShellError,
  });
}

const notHere = (name) => new Error(`Bun.${name} is not available under Node: set js.runtime to bun`);
const fileMark = Symbol("file");
const pathOf = (of) => (of instanceof URL || String(of).startsWith("file:") ? fileURLToPath(of) : of?.[fileMark] ? of.name : String(of));

function file(of) {
  const name = pathOf(of);
  return {
    [fileMark]: true, name,
    get size() { return existsSync(name) ? statSync(name).size : 0; },
    get lastModified() { return statSync(name).mtimeMs; },
    exists: async () => existsSync(name) && statSync(name).isFile(),
    text: () => readFile(name, "utf8"),
    json: async () => JSON.parse(await readFile(name, "utf8")),
    bytes: async () => new Uint8Array(await readFile(name)),
    arrayBuffer: async () => new Uint8Array(await readFile(name)).buffer,
    stat: () => stat(name),
    write: (data) => write(name, data),
  };
}

async function write(to, data) {
  const name = pathOf(to);
  await mkdir(path.dirname(name), { recursive: true });
  if (data?.[fileMark]) {
    await copyFile(data.name, name);
    return statSync(name).size;
  }
  const bytes = data instanceof Response || data instanceof Blob ? Buffer.from(await data.arrayBuffer()) : typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
  await writeFile(name, bytes);
  return bytes.length;
}

function which(name, { PATH = process.env.PATH ?? "", cwd = process.cwd() } = {}) {
  for (const dir of name.includes("/") ? [""] : PATH.split(":")) {
    const full = path.resolve(cwd, dir, name);
    try {
      accessSync(full, constants.X_OK);
      if (statSync(full).isFile()) return full;
    } catch {
      continue;
    }
  }
  return null;
}

// The two forms of Bun.spawn: a list and options, or options with cmd.
const command = (first, rest) => (Array.isArray(first) ? [first, rest ?? {}] : [first.cmd, first]);
const stdio = (options) => {
  const of = (index, name, usual) => options[name] ?? options.stdio?.[index] ?? usual;
  return [typeof of(0, "stdin") === "string" ? of(0, "stdin") : of(0, "stdin") == null ? "ignore" : "pipe", of(1, "stdout", "pipe"), of(2, "stderr", "inherit")];
};
const inputOf = (options) => (options.stdin !== null && typeof options.stdin === "object" ? options.stdin : undefined);
// "inherit" is the standard error of the process: its standard output is that, too.
const shown = (all) => all.map((one, i) => (one === "inherit" ? (i === 0 ? "ignore" : 2) : one));

function spawn(first, rest) {
  const [args, options] = command(first, rest);
  const child = start(args[0], args.slice(1), { cwd: options.cwd, env: options.env ?? process.env, stdio: shown(stdio(options)), signal: options.signal, timeout: options.timeout });
  const exited = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      out.exitCode = code;
      out.signalCode = signal;
      options.onExit?.(out, code, signal);
      resolve(code ?? 128);
    });
  });
  exited.catch(() => {});
  const given = inputOf(options);
  if (given !== undefined) child.stdin.end(given instanceof Uint8Array ? given : Buffer.from(given));
  const stream = (of) => {
    if (!of) return undefined;
    const web = Readable.toWeb(of);
    const all = () => new Response(web);
    return Object.assign(web, { text: () => all().text(), json: () => all().json(), bytes: async () => new Uint8Array(await all().arrayBuffer()) });
  };
  const out = {
    pid: child.pid, exited, exitCode: null, signalCode: null, stdin: child.stdin, stdout: stream(child.stdout), stderr: stream(child.stderr),
    get killed() { return child.killed; },
    kill: (signal) => child.kill(signal), ref: () => child.ref(), unref: () => child.unref(),
  };
  return out;
}

function spawnSync(first, rest) {
  const [args, options] = command(first, rest);
  const res = startSync(args[0], args.slice(1), { cwd: options.cwd, env: options.env ?? process.env, stdio: shown([stdio(options)[0], options.stdout ?? "pipe", options.stderr ?? "pipe"]), input: inputOf(options), timeout: options.timeout, maxBuffer: 1 << 30 });
  if (res.error && res.status === null && res.pid === 0) throw res.error;
  return { pid: res.pid, exitCode: res.status ?? 128, success: res.status === 0, signalCode: res.signal ?? undefined, stdout: res.stdout, stderr: res.stderr };
}

const known = { $: shell(), file, write, spawn, spawnSync, which, env: process.env, argv: process.argv, version: "0.0.0", sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms instanceof Date ? ms - Date.now() : ms)) };
module.exports = new Proxy(known, {
  get: (target, key) => {
    if (key in target || typeof key === "symbol" || key === "then" || key === "__esModule") return target[key];
    throw notHere(String(key));
  },
});
