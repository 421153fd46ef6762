// Reads the return value of a tool.

import { BelayError, belayError, errorText } from "../error.ts";
import { type Json, toStored } from "../json.ts";

/** A result that cannot be stored is replaced by words that say so: the tool has run. `lost` is called with the reason. */
export function storable(value: unknown, tool: string, lost: (error: BelayError) => void): Json {
  if (typeof value === "string") return value;
  const what = `The result of tool ${tool}`;
  try {
    return toStored(value, what);
  } catch (error) {
    const path = "(the value itself)";
    const known = error instanceof BelayError && error.code === "NOT_SERIALIZABLE";
    const refusal = known ? error : belayError("NOT_SERIALIZABLE", { what, path, found: errorText(error) }, error);
    lost(refusal);
    return `Ran, result not storable at ${refusal.details.path}: ${refusal.details.found}.`;
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
