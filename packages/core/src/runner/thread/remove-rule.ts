import { type BelayError, belayError } from "../../error.ts";
import { ruleRemoved } from "../decide/facts.ts";
import type { IdleFacts } from "../decide/idle.ts";
import type { LiveThread } from "./live-thread.ts";

/** Takes back what people allowed for the thread; false where there is no such rule. */
export function removeRule(thread: LiveThread, id: string, by: string): Promise<boolean> {
  return thread.write(
    (live) => live.removeRule(id, by),
    () => removeIdle(thread, id, by),
  );
}

async function removeIdle(thread: LiveThread, id: string, by: string): Promise<boolean> {
  let known = false;
  const remove: IdleFacts = (place, { rules, state, threadId }) => {
    known = rules?.some((rule) => rule.id === id) ?? false;
    if (!known) throw belayError("INVALID_STATE", { threadId, state, action: "removeRule()" });
    return [ruleRemoved(place, id, by)];
  };
  await thread.append(remove).catch((error: Partial<BelayError>) => {
    if (known || error.code !== "INVALID_STATE") throw error;
  });
  return known;
}
