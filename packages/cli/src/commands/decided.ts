// Decided requests: the person, the time and the decision.

import type { Fact, Runner } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { factsOf } from "../facts.ts";
import { writeJson } from "../headless/write-json.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { Texts } from "../texts/texts.ts";

export type Decided = Extract<Fact, { type: "request-answered" }>;

/** A person that asks for a request has seen it lately, and its thread has changed since. */
const LOOK_AT = 50;

/** Of the threads that were changed last, by the request's id. */
export async function decidedLately(runner: Runner): Promise<ReadonlyMap<string, Decided>> {
  const all = new Map<string, Decided>();
  for (const { threadId, head, damaged } of (await allThreads(runner)).slice(0, LOOK_AT)) {
    if (!damaged)
      for (const [id, fact] of decidedIn(await factsOf(runner, threadId, head).catch(() => []))) all.set(id, fact);
  }
  return all;
}

export function decidedIn(facts: readonly Fact[]): ReadonlyMap<string, Decided> {
  const all = new Map<string, Decided>();
  for (const fact of facts) {
    if (fact.type === "request-answered" && fact.refused === undefined && fact.open !== true) all.set(fact.id, fact);
  }
  return all;
}

/** Returns the decision and the person. */
export function howDecided({ by, answer }: Decided, { dialog }: Texts): string {
  const words = {
    approve: dialog.approved,
    reject: dialog.rejected,
    respond: dialog.responded,
    withdraw: dialog.withdrawn,
    expire: dialog.expired,
  };
  return answer.type === "expire" ? words.expire : dialog.answered(words[answer.type], by);
}

export function decidedWords(decided: Decided, texts: Texts): string {
  const { id, at, answer } = decided;
  const { commands } = texts;
  const how = howDecided(decided, texts);
  const what = sanitizeLine(saidWith(answer), 300);
  return commands.decided(sanitizeLine(id, 100), sanitizeLine(how, 200), new Date(at).toISOString(), what);
}

/** Returns its words beside yes or no. */
function saidWith(answer: Decided["answer"]): string {
  switch (answer.type) {
    case "approve":
      return answer.args === undefined ? (answer.note ?? "") : writeJson(answer.args);
    case "reject":
      return answer.reason;
    case "respond":
      return typeof answer.value === "string" ? answer.value : writeJson(answer.value);
    case "withdraw":
    case "expire":
      return "";
    default:
      return answer satisfies never;
  }
}
