// A plugin in OpenCode's format: it denies commands that discard changes.
import type { Plugin } from "@opencode-ai/plugin"

export const Guard: Plugin = async () => ({
  "tool.execute.before": async (input, output) => {
    if (input.tool === "bash" && /\bgit\s+reset\s.*--hard\b/.test(output.args.command)) {
      throw new Error("git reset --hard discards changes; use git stash")
    }
  },
})
