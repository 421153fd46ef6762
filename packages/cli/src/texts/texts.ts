// The texts of the interface, in the person's language.

import { en, type Texts } from "./en.ts";
import { zh } from "./zh.ts";

export type { IdOf, Texts } from "./en.ts";

const languages: Readonly<Record<string, Texts>> = { en, zh };

/** Returns the language of --lang, else that of the environment, else English. */
export function textsFor(lang?: string, env: Readonly<Record<string, string | undefined>> = process.env): Texts {
  const wanted = lang ?? (env.LC_ALL || env.LC_MESSAGES || env.LANG || "en");
  return languages[wanted.slice(0, 2).toLowerCase()] ?? en;
}

/** The languages there are, for --lang. */
export const languageNames: readonly string[] = Object.keys(languages);
