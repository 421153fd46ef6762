import { stat } from "node:fs/promises";
import { tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { problem } from "../problem.ts";
import { approvalToLook } from "./approval.ts";
import { placeOf } from "./paths.ts";
import { count, object, path } from "./schema.ts";
import { walk } from "./walk.ts";

const MOST = 1_000;

export function listTool(root: string, judge: Judge) {
  return tool({
    name: "list",
    description: `Lists the files below a folder, one a line, folders with a slash at the end; ${MOST} at most. What .gitignore names is left out.`,
    input: object<{ path?: string; depth?: number }>(
      {},
      { path, depth: count("How many levels deep; all of them by default.", 40) },
    ),
    readOnly: true,
    needsApproval: approvalToLook(root, judge, "list", "List"),
    async execute({ path = ".", depth }, ctx) {
      const { real, shown } = await placeOf(root, path);
      const found = await stat(real).catch(() => undefined);
      if (found === undefined) throw problem("PATH_MISSING", { path: shown });
      if (!found.isDirectory()) return shown;
      const lines: string[] = [];
      const options = { signal: ctx.signal, ...(depth !== undefined && { depth }) };
      for await (const entry of walk(root, shown === "." ? "" : shown, options)) {
        if (lines.length === MOST) {
          lines.push(`[more than ${MOST}; list a folder, or give a depth]`);
          break;
        }
        lines.push(entry.isFolder ? `${entry.path}/` : entry.path);
      }
      return lines.length === 0 ? `[${shown} is empty]` : lines.join("\n");
    },
  });
}
