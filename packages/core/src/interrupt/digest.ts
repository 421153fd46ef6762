// The digests that approvals are bound to: sha256 of the same bytes in every process.

import { builtIn } from "../built-in.ts";
import type { Json } from "../json.ts";

/** Returns the same text for equal values: keys sorted, no whitespace. */
export function canonical(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const items = value as { readonly [key: string]: Json };
  const keys = Object.keys(items).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(items[key]!)}`).join(",")}}`;
}

export function digestOf(value: Json): string {
  return digestOfText(canonical(value));
}

export function digestOfText(text: string): string {
  return builtIn("node:crypto").hash("sha256", text);
}

/** Returns the digest of the exact call that an approval allows. */
export function callDigest(tool: string, version: string, args: Json, threadId: string, address: string): string {
  return digestOf([tool, version, args, threadId, address]);
}
