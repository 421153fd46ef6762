// The preview of a call that waits for approval. It was made with the request, and is read from the
// request: the same in every terminal.

import type { Interrupt, Json } from "@belay/core";

/** An edit as a unified diff, a command as it will run, or the arguments as they are. */
export type Preview =
  | { readonly kind: "diff"; readonly path: string; readonly diff: string }
  | { readonly kind: "command"; readonly command: string; readonly folder: string }
  | { readonly kind: "args"; readonly args: Json };

type Asked = Pick<Interrupt, "args" | "context"> & { readonly kind: string };

/** Undefined for requests of another kind. */
export function previewOf({ kind, args = null, context }: Asked): Preview | undefined {
  if (kind !== "approval") return undefined;
  const { path, diff, command, folder } = (isFields(context) ? context : {}) as Partial<Record<string, unknown>>;
  if (typeof path === "string" && typeof diff === "string") return { kind: "diff", path, diff };
  if (typeof command === "string" && typeof folder === "string") return { kind: "command", command, folder };
  return { kind: "args", args };
}

function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
