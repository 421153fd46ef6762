// What pages read, by react-query: lists and looks. A thread's facts come by the stream.

import type { Message } from "@belay/core";
import { infiniteQueryOptions, keepPreviousData, QueryClient, queryOptions } from "@tanstack/react-query";
import { mergeList } from "./merge-list.ts";
import { Problem } from "./problem.ts";
import { query, request, threadPath } from "./request.ts";
import type {
  AgentDescription,
  Ask,
  Checkpoint,
  DecidedAsk,
  Effect,
  Fact,
  HistoryPoint,
  InboxPage,
  Look,
  Me,
  Page,
  RememberedRule,
  ThreadRow,
} from "./shapes.ts";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The stream says when a list is old; a page that opens reads again anyway.
      staleTime: 2_000,
      gcTime: 10 * 60_000,
      placeholderData: keepPreviousData,
      refetchOnWindowFocus: false,
      // A thread that cannot be read is still so a second later.
      retry: (count, error) => count < 2 && error instanceof Problem && (error.isOffline || error.status > 500),
    },
  },
});

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => request<Me>("/me", { signal }),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
});

export interface ThreadFilter {
  readonly state?: string;
  readonly pauseType?: string;
  readonly agent?: string;
  readonly label?: string;
  readonly search?: string;
}

/** Rows of a page of threads. */
const ROWS = 100;

export const threads = (filter: ThreadFilter) =>
  infiniteQueryOptions({
    queryKey: ["thread-list", filter],
    queryFn: ({ pageParam, signal }) =>
      request<Page<ThreadRow>>(`/threads${query({ ...filter, limit: ROWS, cursor: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next,
  });

export const running = queryOptions({
  queryKey: ["threads", "running"],
  queryFn: ({ signal }) => request<Page<ThreadRow>>("/threads?state=running&limit=8", { signal }),
});

export const inbox = queryOptions({
  queryKey: ["inbox", "open"],
  queryFn: ({ signal }) => request<InboxPage>("/inbox?limit=200", { signal }),
});

/** Of the open requests, those that this person may answer. */
export const mine = queryOptions({
  queryKey: ["inbox", "mine"],
  queryFn: ({ signal }) => request<InboxPage>("/inbox?mine=1&limit=200", { signal }),
});

export const decided = queryOptions({
  queryKey: ["inbox", "decided"],
  queryFn: ({ signal }) => request<Page<DecidedAsk>>("/inbox?state=decided&limit=100", { signal }),
});

export interface OneRequest {
  readonly item: Ask;
  readonly decided?: DecidedAsk["decided"];
  readonly messages: readonly Message[];
}

export const oneRequest = (id: string) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => request<OneRequest>(`/requests/${encodeURIComponent(id)}`, { signal }),
    placeholderData: undefined,
  });

export const look = (threadId: string) =>
  queryOptions({
    queryKey: ["look", threadId],
    queryFn: ({ signal }) => request<Look>(threadPath(threadId), { signal }),
    placeholderData: undefined,
  });

/** Facts at the end of a thread that say why it rests. */
const TAIL = 16;

/** The last facts of a thread, as it was when its list was read. */
export const tail = ({ threadId, head = 0 }: Pick<ThreadRow, "threadId" | "head">) =>
  queryOptions({
    queryKey: ["tail", threadId, head],
    queryFn: async ({ signal }) => {
      const path = `/facts${query({ after: Math.max(0, head - TAIL), limit: TAIL })}`;
      return (await request<Page<Fact>>(threadPath(threadId, path), { signal })).items;
    },
    // Facts never change.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
    retry: false,
  });

export const history = (threadId: string) =>
  queryOptions({
    queryKey: ["history", threadId],
    queryFn: async ({ signal }) => {
      const body = await request<readonly HistoryPoint[] | { items: readonly HistoryPoint[] }>(
        threadPath(threadId, "/history"),
        { signal },
      );
      return "items" in body ? body.items : body;
    },
    placeholderData: undefined,
  });

export const effects = (threadId: string, after: number) =>
  queryOptions({
    queryKey: ["effects", threadId, after],
    queryFn: async ({ signal }) => {
      const body = await request<readonly Effect[] | { items: readonly Effect[] }>(
        threadPath(threadId, `/effects?after=${after}`),
        { signal },
      );
      return "items" in body ? body.items : body;
    },
    placeholderData: undefined,
  });

export const checkpoint = (threadId: string) =>
  queryOptions({
    queryKey: ["checkpoint", threadId],
    queryFn: ({ signal }) => request<Checkpoint | undefined>(threadPath(threadId, "/checkpoint"), { signal }),
    placeholderData: undefined,
    retry: false,
  });

export const agents = queryOptions({
  queryKey: ["agents"],
  queryFn: async ({ signal }) => {
    const body = await request<{ items: readonly AgentDescription[] } | readonly AgentDescription[]>("/agents", {
      signal,
    });
    return "items" in body ? body.items : body;
  },
  staleTime: 60_000,
});

export const agent = (name: string) =>
  queryOptions({
    queryKey: ["agents", name],
    queryFn: ({ signal }) => request<AgentDescription>(`/agents/${encodeURIComponent(name)}`, { signal }),
    staleTime: 60_000,
    placeholderData: undefined,
    retry: false,
  });

export const rules = (threadId?: string) =>
  queryOptions({
    queryKey: ["rules", threadId ?? "all"],
    queryFn: async ({ signal }) => {
      const path = threadId === undefined ? "/rules" : threadPath(threadId, "/rules");
      const body = await request<{ items: readonly RememberedRule[] } | readonly RememberedRule[]>(path, { signal });
      return "items" in body ? body.items : body;
    },
  });

/** A hint came that threads have changed: read again what shows them. Undefined: any may have. */
export function changed(threadId: string | undefined): void {
  changedMany(threadId === undefined ? undefined : [threadId]);
}

export function changedMany(ids: readonly string[] | undefined): void {
  const old = (key: readonly unknown[]) => queries.invalidateQueries({ queryKey: key });
  void old(["threads"]);
  void old(["inbox"]);
  if (ids === undefined) {
    void old(["thread-list"]);
    void old(["look"]);
    return;
  }
  void refreshLists(ids);
  for (const id of ids) void old(["look", id]);
}

/** Threads that changed since the lists were last read; undefined if nothing reads them now. */
let due: Set<string> | undefined;

/** Reads the first page of each list that is shown. While it is read, later changes wait for the next time. */
async function refreshLists(ids: readonly string[]): Promise<void> {
  if (due !== undefined) {
    for (const id of ids) due.add(id);
    return;
  }
  let now = new Set(ids);
  due = new Set();
  try {
    while (now.size > 0) {
      await Promise.all(
        queries
          .getQueryCache()
          .findAll({ queryKey: ["thread-list"], type: "active" })
          .map(({ queryKey }) => refreshList(queryKey as ReturnType<typeof threads>["queryKey"], now)),
      );
      now = due;
      due = new Set();
    }
  } finally {
    due = undefined;
  }
}

async function refreshList(key: ReturnType<typeof threads>["queryKey"], ids: ReadonlySet<string>): Promise<void> {
  const filter = key[1] as ThreadFilter;
  const head = await request<Page<ThreadRow>>(`/threads${query({ ...filter, limit: ROWS })}`).catch(() => undefined);
  const known = queries.getQueryData(key);
  if (head === undefined || known === undefined) return;
  queries.setQueryData(key, mergeList(known, head, ids));
}
