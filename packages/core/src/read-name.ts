// A name that somebody gives: a key, an id, who it was. It stands in addresses and in each record that speaks of it, so all
// names have one bound of their own, whatever a single record may take (P12).

import { belayError, shown } from "./error.ts";

export const NAME_BYTES = 1024;

export function isLongName(name: string): boolean {
  return name.length > NAME_BYTES || Buffer.byteLength(name) > NAME_BYTES;
}

/** Of at least so many characters; throws `OPTION_INVALID`. */
export function readName(option: string, name: unknown, least = 1): string {
  if (typeof name === "string" && name.length >= least && !isLongName(name)) return name;
  const needed = least > 0 ? `text of ${least}–${NAME_BYTES} bytes` : `text of ${NAME_BYTES} bytes at most`;
  throw belayError("OPTION_INVALID", { option, value: shown(name), needed });
}
