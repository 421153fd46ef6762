// The label of a call in a few words: its tool, and its most telling argument.

import type { Json } from "@belay/core";
import { sanitizeLine } from "../terminal/sanitize.ts";

const TELLING = ["command", "path", "pattern", "query", "url", "question", "name", "to"];

export function callLabel(tool: string, args: Json | undefined): string {
  const name = sanitizeLine(tool, 60);
  if (typeof args === "string") return `${name} ${sanitizeLine(args, 80)}`.trim();
  if (typeof args !== "object" || args === null || Array.isArray(args)) return name;
  const own = args as { readonly [key: string]: Json };
  const key =
    TELLING.find((each) => typeof own[each] === "string") ?? Object.keys(own).find((each) => own[each] !== "");
  const value = key === undefined ? undefined : own[key];
  if (value === undefined || value === null) return name;
  return `${name} ${sanitizeLine(typeof value === "string" ? value : JSON.stringify(value), 80)}`;
}
