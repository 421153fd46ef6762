// The verbs that the routes need, by thread id. Each is the runner's own if the runner has it; the rest is made here of verbs
// that it has, until it does.

import type { BelayError, DamagedRequest, Fact, Inbox, InboxItem, Runner, SessionState, ThreadItem } from "@belay/core";

export interface InboxQuery {
  readonly kind?: InboxItem["kind"] | undefined;
  readonly tool?: string | undefined;
  readonly threadId?: string | undefined;
  readonly by?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Approvals {
  readonly approvals: readonly { readonly by: string; readonly at: number; readonly digest?: string }[];
}

export interface Decided {
  readonly how: string;
  readonly by: string;
  readonly at: number;
  readonly note?: string;
  readonly reason?: string;
}

export type DecidedRequest = InboxItem & Decided;

export type Change =
  | { readonly type: "sync" }
  | {
      readonly type: "change";
      readonly threadId: string;
      readonly head: number;
      readonly state: SessionState;
      readonly open: number;
    };

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

type Kept = Pick<
  Runner,
  | "owner"
  | "open"
  | "look"
  | "journal"
  | "effects"
  | "checkpoint"
  | "permission"
  | "agents"
  | "history"
  | "rules"
  | "removeRule"
  | "setBreakpoint"
  | "start"
  | "resume"
  | "interrupt"
  | "pause"
  | "terminate"
  | "answer"
  | "observe"
  | "send"
  | "steer"
  | "enqueue"
  | "withdraw"
  | "threads"
  | "label"
  | "events"
  | "fork"
  | "repair"
  | "delete"
  | "work"
  | "drain"
>;

export interface Kernel extends Kept {
  inbox(
    query: InboxQuery,
  ): Promise<Page<InboxItem & Partial<Approvals>> & { readonly damaged: readonly DamagedRequest[] }>;
  requests(query: {
    readonly state: "decided";
    readonly limit?: number | undefined;
    readonly cursor?: string | undefined;
  }): Promise<Page<DecidedRequest>>;
  request(
    id: string,
  ): Promise<{ readonly item: InboxItem & Partial<Approvals>; readonly decided?: Decided } | undefined>;
  changes(options: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Change>;
}

/** Verbs that the runner has, and whose options it does not all take yet. */
const narrowed: readonly string[] = ["inbox"];

/** Returns the runner with every verb of the routes. */
export function kernelOf(runner: Runner): Kernel {
  const made = standIns(runner) as unknown as Record<string, unknown>;
  return new Proxy(runner as unknown as Kernel & Record<string, unknown>, {
    get(target, name: string) {
      const value = name in target && !narrowed.includes(name) ? target[name] : made[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const MOST_FACTS = 1000;
const CHANGE_POLL_MS = 250;

function standIns(runner: Runner): Partial<Kernel> {
  const inbox = (filter: object) => (runner as unknown as { inbox(filter: object): Promise<Inbox> }).inbox(filter);

  async function* facts(threadId: string): AsyncGenerator<Fact> {
    for (let after = 0; ; ) {
      const page = await runner.journal(threadId, { after, limit: MOST_FACTS });
      yield* page.items;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  async function rows(): Promise<ThreadItem[]> {
    const all: ThreadItem[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await runner.threads({ limit: 200, cursor });
      all.push(...page.items);
      if (page.next === undefined) return all;
      cursor = page.next;
    }
  }

  function paged<Item>(items: readonly Item[], limit = 50, cursor = "0"): Page<Item> {
    const from = Number(cursor) || 0;
    const next = from + limit;
    return { items: items.slice(from, next), ...(next < items.length && { next: String(next) }) };
  }

  async function decidedOf(threadId: string): Promise<DecidedRequest[]> {
    const raised = new Map<string, InboxItem>();
    const decided: DecidedRequest[] = [];
    for await (const fact of facts(threadId)) {
      if (fact.type === "action" && fact.action.interrupted !== undefined && !("data" in fact.action.interrupted)) {
        const { interrupted } = fact.action;
        raised.set(interrupted.id, { ...interrupted, threadId, runId: fact.runId } as unknown as InboxItem);
      }
      if (fact.type !== "request-answered" || fact.open || fact.refused) continue;
      const item = raised.get(fact.id);
      const { answer, by, at } = fact;
      const said = answer as { readonly note?: string; readonly reason?: string };
      if (item !== undefined) {
        decided.push({
          ...item,
          how: answer.type,
          by,
          at,
          ...(said.note !== undefined && { note: said.note }),
          ...(said.reason !== undefined && { reason: said.reason }),
        } as DecidedRequest);
      }
    }
    return decided;
  }

  return {
    async inbox({ limit, cursor, ...filter }) {
      const items = await inbox(filter);
      return { ...paged(items, limit, cursor), damaged: items.damaged };
    },
    async requests({ limit, cursor }) {
      const all = await Promise.all((await rows()).map(({ threadId }) => decidedOf(threadId)));
      return paged(
        all.flat().sort((a, b) => b.at - a.at),
        limit,
        cursor,
      );
    },
    async request(id) {
      const item = (await inbox({})).find((each) => each.id === id);
      if (item !== undefined) return { item };
      for (const { threadId } of await rows()) {
        const decided = (await decidedOf(threadId)).find((each) => each.id === id);
        if (decided !== undefined) return { item: decided, decided };
      }
      return undefined;
    },
    async *changes({ signal }) {
      const latest = async () => (await runner.threads({ limit: 200 })).items;
      const known = new Map((await latest()).map((row) => [row.threadId, row.head]));
      yield { type: "sync" };
      while (!signal?.aborted) {
        await new Promise((resolve) => setTimeout(resolve, CHANGE_POLL_MS));
        for (const { threadId, head, state, open } of await latest().catch((error: BelayError) => {
          if (error.code === "RUNNER_CLOSED") return [];
          throw error;
        })) {
          if (known.get(threadId) === head) continue;
          known.set(threadId, head);
          yield { type: "change", threadId, head, state, open };
        }
      }
    },
  };
}
