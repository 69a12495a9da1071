#!/usr/bin/env node
// A language server for Markdown: links to missing files are errors, and their definition
// is the file that they name.
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const documents = new Map() // texts by URI

function send(message) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message })
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

// links returns the relative links in a document: where they are, and what they name.
function links(uri) {
  return (documents.get(uri) ?? "").split("\n").flatMap((text, line) =>
    [...text.matchAll(/\]\(([\w./-]+)\)/g)].map((match) => {
      const start = { line, character: match.index + 2 }
      const end = { line, character: start.character + match[1].length }
      return { range: { start, end }, name: match[1], target: new URL(match[1], uri).href }
    }),
  )
}

function check(uri, version) {
  const missing = links(uri).filter(({ target }) => !existsSync(fileURLToPath(target)))
  const diagnostics = missing.map(({ range, name }) => ({ range, severity: 1, message: `file not found: ${name}` }))
  send({ method: "textDocument/publishDiagnostics", params: { uri, version, diagnostics } })
}

const methods = {
  initialize: () => ({
    capabilities: { textDocumentSync: 1, definitionProvider: true },
    serverInfo: { name: "links", version: "1.0.0" },
  }),
  shutdown: () => null,
  exit: () => process.exit(0),
  "textDocument/didOpen": ({ textDocument: { uri, version, text } }) => {
    documents.set(uri, text)
    check(uri, version)
  },
  "textDocument/didChange": ({ textDocument: { uri, version }, contentChanges }) => {
    documents.set(uri, contentChanges[0].text) // textDocumentSync 1: the complete text
    check(uri, version)
  },
  "textDocument/didClose": ({ textDocument: { uri } }) => documents.delete(uri),
  "textDocument/definition": ({ textDocument: { uri }, position: { line, character } }) => {
    const at = ({ range: { start, end } }) => start.line === line && start.character <= character && character < end.character
    const start = { line: 0, character: 0 }
    return links(uri).filter(at).map(({ target }) => ({ uri: target, range: { start, end: start } }))
  },
}

let input = Buffer.alloc(0)
for await (const chunk of process.stdin) {
  input = Buffer.concat([input, chunk])
  for (;;) {
    const header = input.indexOf("\r\n\r\n")
    const length = Number(/Content-Length: (\d+)/i.exec(input.subarray(0, Math.max(header, 0)))?.[1])
    if (header < 0 || input.length < header + 4 + length) break
    const { id, method, params } = JSON.parse(input.subarray(header + 4, header + 4 + length))
    input = input.subarray(header + 4 + length)
    const result = methods[method]?.(params)
    if (id === undefined) continue // a notification
    send(method in methods ? { id, result } : { id, error: { code: -32601, message: `method ${method} not found` } })
  }
}
