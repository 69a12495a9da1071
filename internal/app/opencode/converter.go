package opencode

// converter makes a manifest, and collects notes about the rest.
type converter struct {
	*notes
	providers providers
	servers   servers
	dir       string
	known     Known
	tools     []string // prefixes of the names of tools of MCP servers
	off       []rule   // for subagents that the configuration switches off, after all others
	guard     *guard
}

// Known are the names that a manifest can use without a definition.
type Known struct {
	Provider, LanguageServer func(name string) bool
}

func newConverter(dir string, known Known, config *node) *converter {
	all := &notes{}
	return &converter{
		notes: all, providers: providers{all, known, config.get("provider")}, servers: servers{all},
		dir: dir, known: known, tools: toolPrefixes(config.get("mcp")), off: off(config),
		guard: &guard{dir: dir, config: config},
	}
}
