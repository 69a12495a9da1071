#!/usr/bin/env node
// An MCP server for a list of issues. It reads and writes one JSON-RPC message a line.
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"

const issues = JSON.parse(readFileSync(new URL("issues.json", import.meta.url), "utf8"))

const number = { type: "object", properties: { number: { type: "integer" } }, required: ["number"] }
const tools = [
  { name: "get", description: "Returns the text of an issue.", inputSchema: number },
  { name: "close", description: "Closes an issue.", inputSchema: number },
]

function call({ name, arguments: args }) {
  const issue = issues[args.number]
  if (!issue) return { isError: true, content: [{ type: "text", text: `issue ${args.number} not found` }] }
  if (name === "close") issue.state = "closed"
  return { content: [{ type: "text", text: `#${args.number} (${issue.state}): ${issue.text}` }] }
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "issues", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": call,
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue // a notification
  const reply = methods[method]
    ? { result: methods[method](params) }
    : { error: { code: -32601, message: `method ${method} not found` } }
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...reply }) + "\n")
}
