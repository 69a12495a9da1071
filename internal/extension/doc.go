// Package extension starts the programs beside the model that serve a job, and offers what
// they provide as tools: MCP servers. It decides which of them a profile needs, which of
// their tools are offered under which names, and what is reported of them. How their
// processes are confined is up to its user.
package extension
