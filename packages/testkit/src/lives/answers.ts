// The answers of people to requests.

import { type Answer, approve, type Interrupt, reject, respond } from "@belay/core";
import { type Dice, oneOf } from "./dice.ts";

/** Anything that fits the request. */
export function someAnswer(dice: Dice, { kind, key }: Interrupt, by: string, ruled: boolean): Answer {
  const how = dice(6);
  const asksBefore = kind === "approval" && key === undefined;
  if (kind === "input" || kind === "custom") {
    return how === 0 ? reject("no", { by }) : respond("yes", { by });
  }
  if (how === 0) return reject("no", { by });
  if (asksBefore && how === 1) return approve({ args: { n: 3 }, by });
  if (asksBefore && how === 2) return respond("instead", { by });
  const remember = asksBefore && ruled && dice(3) === 0 ? oneOf(dice, ["thread", "always"] as const) : undefined;
  return approve({ by, ...(remember && { remember }) });
}

export function yes({ kind }: Interrupt, by: string): Answer {
  return kind === "input" || kind === "custom" ? respond("yes", { by }) : approve({ by });
}
