// What a person may say when the agent asks before it acts.
import { approve, reject } from "@belay/core";

export const CHOICES = "y / n / e(dit) · ESC: never mind";

/** An answer, "edit", or undefined: anything else is no verdict but a new instruction. Only a plain yes is a yes. */
export function readVerdict(line) {
  if (/^y(?:es)?[.!]?$/i.test(line)) return approve();
  if (/^e(?:dit)?$/i.test(line)) return "edit";
  const no = /^no?\b(?:[\s,:;.!-]+(.*))?$/i.exec(line);
  return no ? reject(no[1] ?? "") : undefined;
}

/** The argument that is shown, and can be edited: the first. */
export function editable({ args }) {
  return Object.entries(args)[0];
}

export function edited({ args }, text) {
  return approve({ args: { ...args, [Object.keys(args)[0]]: text } });
}
