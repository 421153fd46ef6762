// Who runs a thread now: this program, another one, or nobody.

import type { Runner } from "@belay/core";

export async function runBy(runner: Runner, threadId: string): Promise<"us" | "others" | "nobody"> {
  const owner = (await runner.threads()).find((each) => each.threadId === threadId)?.lease?.owner;
  if (owner === undefined) return "nobody";
  return owner === runner.owner ? "us" : "others";
}
