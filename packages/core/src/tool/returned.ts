// What the code of a tool gives back.

import { BelayError, errorText } from "../error.ts";
import { type Json, toJson } from "../json.ts";

/** A result that cannot be stored says so: what ran has run. */
export function storable(value: unknown, tool: string): Json {
  if (typeof value === "string") return value;
  try {
    return toJson(value, `The result of tool ${tool}`);
  } catch (error) {
    if (!(error instanceof BelayError)) return `Ran, result not storable: ${errorText(error)}`;
    const { path, found } = error.details;
    return `Ran, result not storable at ${path}: ${found}.`;
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
