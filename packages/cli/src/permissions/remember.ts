// The rule that an approval may leave behind: made here, so that a dialog can show it first.

import type { Json } from "@belay/core";
import { escapeStars } from "./escape-stars.ts";
import type { FolderRule } from "./folder-rules.ts";
import { commandPrefix } from "./shell-command.ts";

/**
 * `folder`: this very call, in this folder. `prefix`: commands that begin like it, in this folder. `everywhere`: this very
 * call, in every folder.
 */
export type Scope = "folder" | "prefix" | "everywhere";

/** The call that was approved. */
export interface ApprovedCall {
  readonly tool: string;
  readonly args: Json;
}

export type RulePattern = Pick<FolderRule, "tool" | "args">;

/** Tools that are remembered by their path: which part of a file was read does not matter. */
const BY_PATH: ReadonlySet<string> = new Set(["read", "list", "search"]);

/** Undefined if there is none: for a command without a safe beginning, for instance. */
export function patternOf({ tool, args }: ApprovedCall, scope: Scope): RulePattern | undefined {
  const { path, command } = fieldsOf(args);
  if (scope === "prefix") {
    const prefix = tool === "shell" && typeof command === "string" ? commandPrefix(command) : undefined;
    return prefix === undefined ? undefined : { tool, args: { command: prefix } };
  }
  if (tool === "shell" && typeof command === "string") return { tool, args: { command: escapeStars(command) } };
  if (BY_PATH.has(tool)) return typeof path === "string" ? { tool, args: { path: escapeStars(path) } } : undefined;
  return { tool: escapeStars(tool), args: { "": typeof args === "string" ? escapeStars(args) : args } };
}

function fieldsOf(args: Json): { readonly [name: string]: Json } {
  return typeof args === "object" && args !== null && !Array.isArray(args)
    ? (args as { readonly [name: string]: Json })
    : {};
}
