// What pages read, by react-query: lists and looks. A thread's facts come by the stream.

import type { Message } from "@belay/core";
import { infiniteQueryOptions, keepPreviousData, QueryClient, queryOptions } from "@tanstack/react-query";
import { Problem } from "./problem.ts";
import { query, request, threadPath } from "./request.ts";
import type {
  AgentDescription,
  Ask,
  Checkpoint,
  DecidedAsk,
  Effect,
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
      retry: (count, error) => count < 2 && error instanceof Problem && (error.isOffline || error.status >= 500),
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

export const threads = (filter: ThreadFilter) =>
  infiniteQueryOptions({
    queryKey: ["threads", filter],
    queryFn: ({ pageParam, signal }) =>
      request<Page<ThreadRow>>(`/threads${query({ ...filter, limit: 100, cursor: pageParam })}`, { signal }),
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

/** A hint came that a thread has changed: read again what shows it. */
export function changed(threadId: string | undefined): void {
  const old = (key: readonly unknown[]) => queries.invalidateQueries({ queryKey: key });
  void old(["threads"]);
  void old(["inbox"]);
  if (threadId === undefined) void old(["look"]);
  else void old(["look", threadId]);
}
