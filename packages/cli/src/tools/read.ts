import { tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { approvalToLook } from "./approval.ts";
import { readText } from "./paths.ts";
import { count, object, path } from "./schema.ts";

const MOST_LINES = 2_000;
const MOST_CHARS = 100_000;

export function readTool(root: string, judge: Judge) {
  return tool({
    name: "read",
    description: `Reads a file of text, ${MOST_LINES} lines at most; offset and limit choose which. A note at the end says whether there is more.`,
    input: object<{ path: string; offset?: number; limit?: number }>(
      { path },
      { offset: count("The first line, from 1.", 1e9), limit: count("How many lines.", MOST_LINES) },
    ),
    readOnly: true,
    needsApproval: approvalToLook(root, judge, "read", "Read"),
    async execute({ path, offset = 1, limit = MOST_LINES }) {
      const { text, place } = await readText(root, path);
      const lines = text.split("\n");
      if (lines.at(-1) === "") lines.pop();
      if (lines.length === 0) return `[${place.shown} is empty]`;
      if (offset > lines.length) return `[${place.shown} has only ${lines.length} lines]`;
      return part(lines, offset - 1, limit);
    },
  });
}

function part(lines: readonly string[], from: number, limit: number): string {
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines.slice(from, from + limit)) {
    chars += line.length + 1;
    if (chars > MOST_CHARS && shown.length > 0) break;
    shown.push(line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS).toWellFormed()}… [the line goes on]` : line);
  }
  const to = from + shown.length;
  const note = to < lines.length ? `\n[lines ${from + 1}–${to} of ${lines.length}; read on with offset ${to + 1}]` : "";
  return shown.join("\n") + note;
}
