// Names that callers give: a key, an id, an actor. A name appears in addresses and in every record about it, so all
// names share one limit, independent of `maxBytes` (P12).

import { belayError, shown } from "./error.ts";

export const NAME_BYTES = 1024;

export function isLongName(name: string): boolean {
  return name.length > NAME_BYTES || Buffer.byteLength(name) > NAME_BYTES;
}

/** Returns `name` if it has at least `least` characters and fits; throws `OPTION_INVALID` otherwise. */
export function readName(option: string, name: unknown, least = 1): string {
  if (typeof name === "string" && name.length >= least && !isLongName(name)) return name;
  const needed = least > 0 ? `text of ${least}–${NAME_BYTES} bytes` : `text of ${NAME_BYTES} bytes at most`;
  throw belayError("OPTION_INVALID", { option, value: shown(name), needed });
}
