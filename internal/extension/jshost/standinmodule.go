package jshost

import (
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// standIns is the namespace of modules that replace those that can't be installed. They are CommonJS,
// whose names are looked up when they are used, not when they are imported.
const standIns = "stand-in"

// standIn has what a module exports, as names that exist and an error for all others.
const standIn = `const missing = new Proxy({}, { get: (_, name) => {
  if (typeof name === "symbol" || name === "then" || name === "__esModule") return undefined;
  throw new Error(%s);
} });
module.exports = Object.assign(Object.create(missing), %s);`

// isVersion2 reports whether a module is the plugin API of OpenCode 2. A package for both
// versions imports it, too.
func isVersion2(module string) bool {
	return module == "@opencode/plugin" || strings.HasPrefix(module, "@opencode/plugin/") || strings.HasPrefix(module, "@opencode-ai/plugin/v2")
}

// dynamic is the suffix of a stand-in for import(). Only the exports that a module declares are in its
// result, unless it is a promise of something else.
const dynamic = "?import"

// resolveStandIn returns where the stand-in is for what a file or a stand-in imports.
func resolveStandIn(a api.OnResolveArgs) api.OnResolveResult {
	switch {
	case a.Namespace == standIns && a.Kind == api.ResolveJSRequireCall: // of Bun
		return api.OnResolveResult{Path: a.Path, External: true}
	case a.Kind == api.ResolveJSDynamicImport:
		return api.OnResolveResult{Path: a.Path, Namespace: standIns, Suffix: dynamic}
	}
	return api.OnResolveResult{Path: a.Path, Namespace: standIns}
}

// loadStandIn returns the text of a stand-in.
func loadStandIn(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text := ""
	switch {
	case a.Suffix == dynamic:
		text = fmt.Sprintf("import * as all from %s;\nexport const then = (resolve) => resolve(all);", quote(a.Path))
	case a.Path == "bun": // of the runtime under Bun, and bun-host.cjs under Node
		text = `module.exports = process.versions.bun ? globalThis.Bun : Object.create(globalThis.Bun);`
	case strings.HasPrefix(a.Path, "bun:"):
		text = fmt.Sprintf("if (process.versions.bun) module.exports = require(%s);\nelse {\n"+standIn+"\n}", quote(a.Path), quote(a.Path+" is not available under Node: set js.runtime to bun"), "{}")
	default:
		text = fmt.Sprintf("const define = (plugin) => plugin;\n"+standIn, quote(version2), "{ define, Plugin: { define } }")
	}
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
}

// version2 is why a plugin of OpenCode 2 is not loaded; host.mjs has the same text.
const version2 = "it is written for OpenCode 2, whose plugins are not supported"
