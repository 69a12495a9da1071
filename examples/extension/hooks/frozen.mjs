#!/usr/bin/env node
// before_tool: pages that start with <!-- frozen --> can't be changed. Exit code 2 denies
// the call, and the text on standard error is the reason for the model.
import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"

const { cwd, tool_input } = JSON.parse(readFileSync(0, "utf8"))
const page = resolve(cwd, tool_input.filePath)
if (existsSync(page) && readFileSync(page, "utf8").startsWith("<!-- frozen -->")) {
  console.error(`${tool_input.filePath} is frozen: add a page instead`)
  process.exit(2)
}
