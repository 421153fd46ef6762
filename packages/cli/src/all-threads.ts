import type { InboxItem, Runner } from "@belay/core";

type ThreadItem = Awaited<ReturnType<Runner["threads"]>>["items"][number];

/** Returns all threads, the last changed first. A thread that changes meanwhile is in it once. */
export async function allThreads(runner: Pick<Runner, "threads">): Promise<readonly ThreadItem[]> {
  const found = new Map<string, ThreadItem>();
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await runner.threads({ limit: 1_000, cursor });
    for (const item of items) if (!found.has(item.threadId)) found.set(item.threadId, item);
    if (next === undefined) return [...found.values()];
    cursor = next;
  }
}

/** Returns all open requests, the oldest first, and those that cannot be read. */
export async function allRequests(runner: Pick<Runner, "inbox">) {
  const found = new Map<string, InboxItem>();
  for (let cursor: string | undefined; ; ) {
    const { items, damaged, next } = await runner.inbox({ limit: 1_000, cursor });
    for (const item of items) found.set(item.id, item);
    if (next === undefined) return { items: [...found.values()], damaged };
    cursor = next;
  }
}
