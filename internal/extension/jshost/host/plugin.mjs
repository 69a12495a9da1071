import { z } from "./zod.mjs";

export function tool(definition) {
  return definition;
}
tool.schema = z;
