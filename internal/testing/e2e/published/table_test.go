package published

// row is something that was published, and what is expected of it.
type row struct {
	kind     string // mcp, lsp or plugin
	packages string // to install: NAME@VERSION, of npm, or of Go's module proxy
	entry    string // program in the first package; empty for plugins
	args     []string
	settings string // more keys of the server, or of the manifest for a plugin
	works    string // what the document states; "yes" needs no more words

	// A server's call, and a language server's question: a tool or an operation, its arguments, and
	// what the result matches.
	call, input, result string
	fails               bool // the call ends with an error
	tools               int  // how many tools a server offers

	// The file that is edited, with a text, a wrong one for it, and the error; none if the server
	// finds none.
	file, good, bad, problem string

	refused string // why a plugin does not load
	guards  bool   // a plugin that denies git reset --hard
	bun     bool   // a plugin that is also tried under Bun
}

// rows is the list, in the order of the document.
var rows = []row{
	{kind: "mcp", packages: "@modelcontextprotocol/server-filesystem@2026.8.31", entry: "dist/index.js", args: []string{"."}, works: "yes", tools: 14, call: "read_text_file", input: `"path": "a.txt"`, result: "one"},
	{kind: "mcp", packages: "@modelcontextprotocol/server-memory@2026.8.31", entry: "dist/index.js", works: "with `environment: {MEMORY_FILE_PATH: ...}` and `write`; its default file is next to the program, which is read-only", tools: 9, call: "create_entities", input: `"entities": [{"name": "x", "entityType": "y", "observations": ["z"]}]`, result: "EROFS|EACCES|read-only", fails: true},
	{kind: "mcp", packages: "@modelcontextprotocol/server-everything@2026.8.31", entry: "dist/index.js", works: "yes", tools: 13, call: "echo", input: `"message": "hello"`, result: "Echo: hello"},
	{kind: "mcp", packages: "@modelcontextprotocol/server-sequential-thinking@2026.8.31", entry: "dist/index.js", works: "yes", tools: 1, call: "sequentialthinking", input: `"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1`, result: "thoughtHistoryLength"},
	{kind: "mcp", packages: "@playwright/mcp@0.0.83", entry: "cli.js", args: []string{"--headless", "--isolated", "--executable-path", "/no/chrome"}, works: "starts; a call without a browser fails", tools: 25, call: "browser_navigate", input: `"url": "about:blank"`, result: "/no/chrome", fails: true},
	{kind: "mcp", packages: "@upstash/context7-mcp@4.1.1", entry: "dist/index.js", works: "starts; a call without network returns `fetch failed` as a result, not as an error", tools: 2, call: "resolve-library-id", input: `"query": "go", "libraryName": "go"`, result: "fetch failed"},
	{kind: "mcp", packages: "@modelcontextprotocol/server-github@2025.4.8", entry: "dist/index.js", works: "starts; a call without network fails", tools: 26, call: "search_repositories", input: `"query": "millhand"`, result: "fetch failed", fails: true},
	{kind: "mcp", packages: "chrome-devtools-mcp@1.11.0", entry: "build/src/bin/chrome-devtools-mcp.js", args: []string{"--headless", "--isolated", "--executablePath", "/no/chrome"}, works: "starts; a call without Chrome fails", tools: 32, call: "list_pages", result: "/no/chrome", fails: true},

	{kind: "lsp", packages: "golang.org/x/tools/gopls@v0.23.0", works: "yes", file: "main.go", good: `string = "x"`, bad: "int = \"x\"", problem: "cannot use \"x\"", call: "hover", input: `"line": 3, "character": 5`, result: "var name string"},
	{kind: "lsp", packages: "typescript-language-server@5.3.0 typescript@5.9.3", entry: "lib/cli.mjs", args: []string{"--stdio"}, works: "yes", file: "main.ts", good: "string = 'x'", bad: "number = 'x'", problem: "Type 'string' is not assignable to type 'number'", call: "findReferences", input: `"line": 1, "character": 14`, result: "main.ts:1:14: export const name: string"},
	{kind: "lsp", packages: "pyright@1.1.414", entry: "langserver.index.js", args: []string{"--stdio"}, works: "yes", file: "main.py", good: "str = \"x\"", bad: "int = \"x\"", problem: "is not assignable to declared type", call: "hover", input: `"line": 1, "character": 1`, result: "variable. name: "},
	{kind: "lsp", packages: "bash-language-server@5.8.1", entry: "out/cli.js", args: []string{"start"}, settings: `extensions: [.sh], env: {SHELLCHECK_PATH: ""}`, works: "questions; it finds errors only with shellcheck", file: "main.sh", good: "greet() {", bad: "greet( {", call: "documentSymbol", input: `"line": 1, "character": 1`, result: "function greet main.sh:1:1"},
	{kind: "lsp", packages: "yaml-language-server@2.0.0", entry: "bin/yaml-language-server", args: []string{"--stdio"}, settings: "extensions: [.yml]", works: "yes", file: "main.yml", good: "name: [x]", bad: "name: [x", problem: "."},
	{kind: "lsp", packages: "vscode-langservers-extracted@4.10.0", entry: "bin/vscode-css-language-server", args: []string{"--stdio"}, settings: "extensions: [.css]", works: "yes (CSS)", file: "main.css", good: "color: red", bad: "color red", problem: "colon expected"},
	{kind: "lsp", packages: "vscode-langservers-extracted@4.10.0", entry: "bin/vscode-html-language-server", args: []string{"--stdio"}, settings: "extensions: [.html]", works: "yes (HTML)", file: "main.html", good: "color: red", bad: "color red", problem: "colon expected"},
	{kind: "lsp", packages: "vscode-langservers-extracted@4.10.0", entry: "bin/vscode-json-language-server", args: []string{"--stdio"}, settings: "extensions: [.json]", works: "yes (JSON)", file: "main.json", good: `"name": 1`, bad: `"name": `, problem: "Value expected"},

	{kind: "plugin", packages: "oh-my-opencode@4.19.4", works: "no: its tools `grep` and others have names of built-in tools", refused: "the tool name grep is in use"},
	{kind: "plugin", packages: "opencode-antigravity-auth@1.6.0", works: "no: `auth`, a login", refused: "the hook auth is not supported"},
	{kind: "plugin", packages: "@tarquinen/opencode-dcp@3.1.14", works: "no: `experimental.text.complete`", refused: "the hook experimental.text.complete is not supported"},
	{kind: "plugin", packages: "opencode-lmstudio@0.3.0", works: "loads"},
	{kind: "plugin", packages: "opencode-supermemory@2.0.10", works: "loads; it does nothing without a key"},
	{kind: "plugin", packages: "opencode-pty@0.1.3", works: "loads, also with `runtime: bun`", bun: true},
	{kind: "plugin", packages: "opencode-swarm@5.1.0", works: "loads"},
	{kind: "plugin", packages: "oh-my-opencode-slim@2.2.24", works: "no: one of its tools is named `webfetch`", refused: "the tool name webfetch is in use"},
	{kind: "plugin", packages: "opencode-skills@0.1.7", works: "loads, also with `runtime: bun`", bun: true},
	{kind: "plugin", packages: "opencode-wakatime@1.3.9", works: "loads"},
	{kind: "plugin", packages: "@sureshsankaran/opencode-destructive-check@1.0.5", works: "yes: denies `git reset --hard`", guards: true},
	{kind: "plugin", packages: "cc-safety-net@2.4.5", works: "yes: denies `git reset --hard`", guards: true},
}
