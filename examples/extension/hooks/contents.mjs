#!/usr/bin/env node
// before_commit: writes the table of contents. What a hook changes is committed.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"

const pages = readdirSync(".").filter((name) => name.endsWith(".md") && name !== "contents.md")
const entries = pages.map((name) => {
  const title = /^# (.*)/m.exec(readFileSync(name, "utf8"))?.[1] ?? name
  return `- [${title}](${name})\n`
})
writeFileSync("contents.md", `# Contents\n\n${entries.join("")}`)
