import type { ThreadQuery } from "../store.ts";
import { beyond } from "../words.ts";
import { toText } from "./keys.ts";
import { pairName, UNLISTED } from "./rows.ts";

/** A query as arguments of the script of a page: values in their order, and then the lists, with their lengths among the values. */
export function pageArgs(query: ThreadQuery): string[] {
  const { state = "", pauseType = "", agent, label = {}, words = [], threadIds = [], after, limit } = query;
  const pairs = Object.entries(label).map(([key, value]) => pairName(key, value));
  return [
    String(limit),
    ...(after === undefined ? ["", ""] : [String(after.at), toText(after.id)]),
    state,
    pauseType === "unlisted" ? UNLISTED : pauseType,
    agent === undefined ? "" : `+${toText(agent)}`,
    String(pairs.length),
    String(words.length),
    String(threadIds.length),
    ...pairs,
    ...words.flatMap((word) => [word, beyond(word)]),
    ...threadIds.map(toText),
  ];
}
