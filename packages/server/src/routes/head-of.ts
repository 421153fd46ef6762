import type { Call } from "../http/route.ts";

/** Returns the thread's head, or refuses an id that the tenant does not have. Nothing is folded: it costs one row. */
export async function headOf({ runner }: Pick<Call, "runner">, threadId: string): Promise<number> {
  return (await runner.journal(threadId, { after: Number.MAX_SAFE_INTEGER, limit: 1 })).head;
}
