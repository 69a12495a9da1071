// A tool file in OpenCode's format. Its name is that of the tool.
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { tool } from "@opencode-ai/plugin"

export default tool({
  description: "Counts the words of a page.",
  args: {
    page: tool.schema.string().describe("path of the page, relative to the workspace"),
  },
  async execute({ page }, context) {
    await context.ask({ permission: "read", patterns: [page], always: [], metadata: {} })
    const text = await readFile(join(context.directory, page), "utf8")
    return `${page} has ${text.split(/\s+/).filter(Boolean).length} words`
  },
})
