#!/usr/bin/env node
// after_tool: what is written to standard output is appended to the result for the model.
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const { cwd, tool_input, tool_response } = JSON.parse(readFileSync(0, "utf8"))
if (!tool_response.error) {
  readFileSync(resolve(cwd, tool_input.filePath), "utf8")
    .split("\n")
    .forEach((line, i) => line.length > 80 && console.log(`style: line ${i + 1} has ${line.length} characters; at most 80`))
}
