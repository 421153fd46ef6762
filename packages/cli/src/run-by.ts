// Returns the process that runs a thread now: this one, another one, or none.

import type { Runner } from "@belay/core";
import { allThreads } from "./all-threads.ts";

export async function runBy(runner: Runner, threadId: string): Promise<"us" | "others" | "nobody"> {
  const owner = (await allThreads(runner)).find((each) => each.threadId === threadId)?.lease?.owner;
  if (owner === undefined) return "nobody";
  return owner === runner.owner ? "us" : "others";
}
