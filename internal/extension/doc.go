// Package extension starts the programs that serve a job beside its model (MCP servers, tool files in JavaScript,
// language servers) and offers what they provide as tools of sessions. Plugins also have hooks around calls
// ([Set.Hooks]), change what a session sends to its model ([Set.Chat]), and get the events of sessions ([Set.Tell]). It
// decides which of them a profile needs, which of their tools are offered under which names, and what is reported of
// them. It does not confine their processes (its user does), and knows no protocol: packages mcp, jshost and lsp do.
package extension
