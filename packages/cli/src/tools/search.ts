import { stat } from "node:fs/promises";
import { tool } from "@belay/core";
import { SECRET_NAME } from "../permissions/built-in.ts";
import type { Judge } from "../permissions/judge.ts";
import { Problem, problem } from "../problem.ts";
import { approvalToLook } from "./approval.ts";
import { Matcher } from "./matcher.ts";
import { placeOf, readText } from "./paths.ts";
import { flag, object, path, text } from "./schema.ts";
import { walk } from "./walk.ts";

const MOST = 300;
const MOST_NAMED = 10;

export function searchTool(root: string, judge: Judge) {
  return tool({
    name: "search",
    description: `Finds the lines that match a regular expression of JavaScript, in the files below the folder: path:line: text, ${MOST} at most. What .gitignore names is left out.`,
    input: object<{ pattern: string; path?: string; ignoreCase?: boolean }>(
      { pattern: text("What to look for, in one line.", { minLength: 1, maxLength: 1000 }) },
      { path, ignoreCase: flag("Also in other case.") },
    ),
    readOnly: true,
    needsApproval: approvalToLook(root, judge, "search", "Search"),
    async execute({ pattern, path = ".", ignoreCase = false }, ctx) {
      const { shown } = await placeOf(root, path);
      const matcher = new Matcher(pattern, ignoreCase ? "iu" : "u", ctx.signal);
      try {
        const lines: string[] = [];
        const large: string[] = [];
        for await (const file of filesBelow(root, shown, ctx.signal)) {
          const found = await readText(root, file).catch((error: Error) => {
            if (file === shown) throw error;
            if (error instanceof Problem && error.code === "FILE_TOO_LARGE") large.push(file);
          });
          if (found === undefined) continue;
          for (const { line, text } of await matcher.match(file, found.text, MOST + 1 - lines.length)) {
            if (lines.length === MOST)
              return [...lines, `[more than ${MOST}; look in a folder, or for less]`].join("\n");
            lines.push(`${file}:${line}: ${text.trim()}`);
          }
        }
        if (lines.length === 0) lines.push(`[nothing in ${shown} matches]`);
        return [...lines, ...notSearched(large)].join("\n");
      } finally {
        await matcher.close();
      }
    },
  });
}

/** A skipped file must not pass for a searched one. */
function notSearched(large: readonly string[]): string[] {
  if (large.length === 0) return [];
  const named = large.slice(0, MOST_NAMED).join(", ");
  const more = large.length > MOST_NAMED ? ` and ${large.length - MOST_NAMED} more` : "";
  return [`[too large to be searched: ${named}${more}]`];
}

async function* filesBelow(root: string, shown: string, signal: AbortSignal): AsyncGenerator<string> {
  const { real } = await placeOf(root, shown);
  const found = await stat(real).catch(() => undefined);
  if (found === undefined) throw problem("PATH_MISSING", { path: shown });
  if (!found.isDirectory()) return yield shown;
  for await (const { path, isFolder } of walk(root, shown === "." ? "" : shown, { signal })) {
    // Such files are looked into only if they are named: then the rules judge the call.
    if (!isFolder && !SECRET_NAME.test(path)) yield path;
  }
}
