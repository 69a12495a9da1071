// Package extension starts the programs that serve a job beside its model (MCP servers, tool files in
// JavaScript, language servers) and offers what they provide as tools of sessions. It decides which of them
// a profile needs, which of their tools are offered under which names, and what is reported of them. How their
// processes are confined is up to its user, and how a protocol works up to packages mcp, jshost and lsp.
package extension
