// The values of options, each checked by one function. A refusal names the option, its value and the values that it takes.

import { belayError, shown } from "../../error.ts";
import { readName } from "../../read-name.ts";

export function name(option: string, value: string | undefined, least = 1): void {
  if (value !== undefined) readName(option, value, least);
}

export function text(option: string, value: string | undefined): void {
  if (value === undefined || typeof value === "string") return;
  throw belayError("OPTION_INVALID", { option, value: shown(value), needed: "text" });
}

export function flag(option: string, value: boolean | undefined): void {
  if (value === undefined || typeof value === "boolean") return;
  throw belayError("OPTION_INVALID", { option, value: shown(value), needed: "true or false" });
}

export function oneOf(option: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  throw belayError("OPTION_INVALID", { option, value: shown(value), needed: `one of ${allowed.join(", ")}` });
}

export function atLeastZero(option: string, value: number | undefined): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  throw belayError("OPTION_INVALID", { option, value: shown(value), needed: "a number of milliseconds, 0 or more" });
}
