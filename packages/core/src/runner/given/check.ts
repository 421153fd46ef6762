// The checks of options are data: each verb has a table of its options, with a check for each. A refusal names the option, its
// value and the values that it takes.

import { belayError, shown } from "../../error.ts";
import { readName } from "../../read-name.ts";
import { refuseUnknown } from "../../refuse-unknown.ts";

/** Throws `OPTION_INVALID` for a value that the option does not take. */
export type Check = (option: string, value: unknown) => void;

/** The options in `T`, each with its check, as a table that the compiler keeps complete. */
export type Checks<T> = Readonly<Record<keyof T, Check>>;

/** Refuses options that are not in the table, and values that do not fit. `where` names the verb. */
export function checkOptions(where: string, options: object, checks: Readonly<Record<string, Check>>): void {
  refuseUnknown(where, options, checks);
  const given = options as Readonly<Record<string, unknown>>;
  for (const option in checks) checks[option]!(option, given[option]);
}

/** Returns the check of an option that must be given. */
export function required(needed: string, fits: (value: unknown) => boolean): Check {
  return (option, value) => {
    if (!fits(value)) throw belayError("OPTION_INVALID", { option, value: shown(value), needed });
  };
}

/** Returns the check of an option that may be left out. */
export function optional(needed: string, fits: (value: unknown) => boolean): Check {
  return required(needed, (value) => value === undefined || fits(value));
}

export function oneOf(...allowed: readonly string[]): Check {
  return optional(`one of ${allowed.join(", ")}`, (value) => allowed.includes(value as string));
}

/** Returns the check of a name of `least` bytes or more. */
export function name(least = 1): Check {
  return (option, value) => {
    if (value !== undefined) readName(option, value, least);
  };
}

/** Takes any value: the verb looks at it by itself. */
export const anything: Check = () => {};

export const text = optional("text", (value) => typeof value === "string");

export const flag = optional("true or false", (value) => typeof value === "boolean");

export const milliseconds = optional(
  "a number of milliseconds, 0 or more",
  (value) => typeof value === "number" && value >= 0,
);

export const names = optional(
  "a list of names",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
);
