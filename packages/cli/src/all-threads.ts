import type { Runner } from "@belay/core";

type Item = Awaited<ReturnType<Runner["threads"]>>["items"][number];

/** Returns all threads, the last changed first. A thread that changes meanwhile is in it once. */
export async function allThreads(runner: Pick<Runner, "threads">): Promise<readonly Item[]> {
  const found = new Map<string, Item>();
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await runner.threads({ limit: 1_000, cursor });
    for (const item of items) if (!found.has(item.threadId)) found.set(item.threadId, item);
    if (next === undefined) return [...found.values()];
    cursor = next;
  }
}
