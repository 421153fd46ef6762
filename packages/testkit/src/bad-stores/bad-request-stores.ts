// Stores that keep requests and rules wrongly, in one way each, and the case of the suite that catches it.

import type { Store } from "@belay/core";
import type { Append, RequestRow, RuleRow, ThreadRow } from "@belay/core/inside";
import type { BadStore, Change } from "./bad-stores.ts";

/** Every append is changed first. */
function rewritten(rewrite: (append: Append, store: Store) => Append | Promise<Append>): Change {
  return (store) => ({ append: async (key, append) => store.append(key, await rewrite(append, store)) });
}

/** Changes every row before it is returned. */
function told(tell: (row: ThreadRow) => ThreadRow): Change {
  return (store) => ({
    async load(key, after) {
      const loaded = await store.load(key, after);
      return loaded && { ...loaded, row: tell(loaded.row) };
    },
    threads: async (tenant) => (await store.threads(tenant)).map(tell),
  });
}

const without = <T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> => {
  const { [key]: _, ...rest } = value;
  return rest;
};

export const badRequestStores: Record<string, BadStore> = {
  "lists requests by their ids": {
    change: (store) => ({
      requests: async (tenant, range) =>
        [...(await store.requests(tenant, range))].sort((a, b) => (a.id < b.id ? -1 : 1)),
    }),
    caught: "open requests are listed over all threads, as they were raised, the oldest first",
  },
  "forgets when a request expires": {
    change: (store) => ({
      requests: async (tenant, range) =>
        (await store.requests(tenant, range)).map((request) => without(request, "expiresAt")),
    }),
    caught: "open requests are listed over all threads, as they were raised, the oldest first",
  },
  "pages requests from the beginning": {
    change: (store) => ({
      requests: (tenant, range) => store.requests(tenant, range && without(range, "after")),
    }),
    caught: "L4: open requests are read page by page, each once, also while some are closed and raised",
  },
  "lists requests that are closed": {
    change: rewritten((append) => without(append, "close")),
    caught: "a closed request is listed no more, and its thread is still found",
  },
  "forgets a request when it is closed": {
    change: (store) => ({
      async requestThread(tenant, id) {
        const open = (await store.requests(tenant)).some((request) => request.id === id);
        return open ? store.requestThread(tenant, id) : undefined;
      },
    }),
    caught: "a closed request is listed no more, and its thread is still found",
  },
  "closes all requests of a thread with one": {
    change: (store) => ({
      async append(key, append) {
        if (append.close === undefined) return store.append(key, append);
        const open = (await store.requests(key.tenant)).filter(({ threadId }) => threadId === key.threadId);
        return store.append(key, { ...append, close: open.map(({ id }) => id) });
      },
    }),
    caught: "a closed request is listed no more, and its thread is still found",
  },
  "closes before it raises": {
    change: rewritten((append) => {
      const raised = new Set(append.raise?.map(({ id }) => id));
      return append.close ? { ...append, close: append.close.filter((id) => !raised.has(id)) } : append;
    }),
    caught: "a request that one append raises and closes is closed, and its thread is found",
  },
  "closes any request by id": {
    change: (store) => {
      const closed = new Set<string>();
      return {
        async append(key, append) {
          const appended = await store.append(key, append);
          if (appended.ok) for (const id of append.close ?? []) closed.add(id);
          return appended;
        },
        requests: async (tenant) => (await store.requests(tenant)).filter(({ id }) => !closed.has(id)),
      };
    },
    caught: "a thread closes its own requests only",
  },
  "finds requests of other tenants": {
    change: (store) => {
      const tenants = new Set<string>();
      return {
        append(key, append) {
          tenants.add(key.tenant);
          return store.append(key, append);
        },
        async requestThread(_, id) {
          for (const tenant of tenants) {
            const found = await store.requestThread(tenant, id);
            if (found !== undefined) return found;
          }
          return undefined;
        },
      };
    },
    caught: "tenants have requests and rules of their own, also under the same ids",
  },
  "has one set of rules for all tenants": {
    change: (store) => {
      const all = "rules of all";
      return {
        async append(key, append) {
          const { remember } = append;
          const rest = { tenant: all, threadId: JSON.stringify(key) };
          const appended = await store.append(key, without(append, "remember"));
          const blank = { appendId: append.appendId, count: 1, at: 0, body: "", agent: "", state: "created" } as const;
          const expect = (await store.load(rest))?.row.head ?? 0;
          const writer = { take: "x", ttlMs: 1 };
          if (appended.ok && remember) await store.append(rest, { ...blank, expect, writer, release: true, remember });
          return appended;
        },
        rules: () => store.rules(all),
        removeRule: (_, id) => store.removeRule(all, id),
      };
    },
    caught: "tenants have requests and rules of their own, also under the same ids",
  },
  "lists requests of appends that it refuses": {
    change: (store) => {
      const more: RequestRow[] = [];
      return {
        async append(key, append) {
          const appended = await store.append(key, append);
          if (!appended.ok) for (const request of append.raise ?? []) more.push({ ...request, threadId: key.threadId });
          return appended;
        },
        requests: async (tenant) => [...(await store.requests(tenant)), ...more],
      };
    },
    caught: "a refused append raises, closes, remembers and rests nothing",
  },
  "rests a thread before it looks whether it may": {
    change: (store) => {
      let rest: Append["rest"];
      return {
        append(key, append) {
          rest = append.rest;
          return store.append(key, append);
        },
        async load(key, after) {
          const loaded = await store.load(key, after);
          return loaded && { ...loaded, row: { ...without(loaded.row, "rest"), ...(rest && { rest }) } };
        },
      };
    },
    caught: "a refused append raises, closes, remembers and rests nothing",
  },
  "lists a request again when its append is repeated": {
    change: (store) => {
      const added: RequestRow[] = [];
      return {
        async append(key, append) {
          const appended = await store.append(key, without(append, "raise"));
          if (appended.ok) for (const each of append.raise ?? []) added.push({ ...each, threadId: key.threadId });
          return appended;
        },
        requests: async () => added,
      };
    },
    caught: "an append repeated under its id raises and remembers once, and closes nothing anew",
  },
  "remembers the rules of a repeated append again": {
    change: (store) => {
      const rules = new Map<string, RuleRow>();
      return {
        async append(key, append) {
          const appended = await store.append(key, append);
          if (appended.ok) for (const rule of append.remember ?? []) rules.set(rule.id, rules.get(rule.id) ?? rule);
          return appended;
        },
        rules: async () => [...rules.values()],
        removeRule: async (_, id) => rules.delete(id),
      };
    },
    caught: "an append repeated under its id raises and remembers once, and closes nothing anew",
  },
  "leaves out a known request, and writes the rest": {
    change: (store) => ({
      async append(key, append) {
        const raise: NonNullable<Append["raise"]>[number][] = [];
        for (const each of append.raise ?? [])
          if ((await store.requestThread(key.tenant, each.id)) === undefined) raise.push(each);
        return store.append(key, { ...append, raise });
      },
    }),
    caught: "an append that raises a request under an id that is there already throws, and writes nothing",
  },
  "remembers rules before it looks at the head": {
    change: (store) => {
      const rules = new Map<string, RuleRow>();
      return {
        append(key, append) {
          for (const rule of append.remember ?? []) if (!rules.has(rule.id)) rules.set(rule.id, rule);
          return store.append(key, append);
        },
        rules: async () => [...rules.values()],
      };
    },
    caught: "of two writers that raise on one head one is written, with all that it brings",
  },
  "keeps a list of requests that it reads, then writes": {
    change: (store) => {
      let listed: readonly RequestRow[] = [];
      return {
        async append(key, append) {
          const before = listed;
          const appended = await store.append(key, append);
          await new Promise((resolve) => setImmediate(resolve));
          const { threadId } = key;
          if (appended.ok) listed = [...before, ...(append.raise ?? []).map((each) => ({ ...each, threadId }))];
          return appended;
        },
        requests: async () => listed,
      };
    },
    caught: "threads that raise at once all have their requests listed",
  },
  "lets a thread rest until it is waked": {
    change: (store) => ({
      async append(key, append) {
        const rest = append.rest ?? (await store.load(key))?.row.rest;
        return store.append(key, { ...append, ...(rest && { rest }) });
      },
    }),
    caught: "the rest state of a thread is that of its last append, after any other call",
  },
  "wakes a thread when its lease is given back": {
    change: (store) => {
      const awake = new Set<string>();
      return {
        async release(key, fence) {
          awake.add(key.threadId);
          await store.release(key, fence);
        },
        async load(key, after) {
          const loaded = await store.load(key, after);
          return loaded && awake.has(key.threadId) ? { ...loaded, row: without(loaded.row, "rest") } : loaded;
        },
      };
    },
    caught: "the rest state of a thread is that of its last append, after any other call",
  },
  "takes a time of zero for none": {
    change: rewritten((append) =>
      append.rest?.dueAt === 0 ? { ...append, rest: { from: append.rest.from } } : append,
    ),
    caught: "the rest state of a thread is that of its last append, after any other call",
  },
  "never says that an answer waits": {
    change: told((row) => ({ ...row, answered: false })),
    caught: "a row says that an answer waits exactly while one does",
  },
  "says of every command that it is an answer": {
    change: (store) => ({
      async load(key, after) {
        const loaded = await store.load(key, after);
        return loaded && { ...loaded, row: { ...loaded.row, answered: loaded.commands.length > 0 } };
      },
    }),
    caught: "a row says that an answer waits exactly while one does",
  },
  "says that an answer waits after it was consumed": {
    change: (store) => {
      const answered = new Set<string>();
      const tell = (row: ThreadRow) => ({ ...row, answered: answered.has(row.threadId) });
      return {
        send(key, command) {
          if (command.kind === "answer") answered.add(key.threadId);
          return store.send(key, command);
        },
        ...told(tell)(store),
      };
    },
    caught: "a row says that an answer waits exactly while one does",
  },
  "lists rules by their time": {
    change: (store) => ({ rules: async (tenant) => [...(await store.rules(tenant))].sort((a, b) => a.at - b.at) }),
    caught: "rules are listed as they were given, in the order they were added; a known id keeps the first",
  },
  "keeps the last rule under an id": {
    change: (store) => ({
      async append(key, append) {
        for (const { id } of append.remember ?? []) await store.removeRule(key.tenant, id);
        return store.append(key, append);
      },
    }),
    caught: "rules are listed as they were given, in the order they were added; a known id keeps the first",
  },
  "says of every rule that it was removed": {
    change: (store) => ({
      async removeRule(tenant, id) {
        await store.removeRule(tenant, id);
        return true;
      },
    }),
    caught: "rules are listed as they were given, in the order they were added; a known id keeps the first",
  },
  "finds requests of deleted threads": {
    change: (store) => {
      const threads = new Map<string, string>();
      return {
        async append(key, append) {
          const appended = await store.append(key, append);
          if (appended.ok) for (const { id } of append.raise ?? []) threads.set(id, key.threadId);
          return appended;
        },
        requestThread: async (_, id) => threads.get(id),
      };
    },
    caught: "a deleted thread takes its requests with it, open and closed; their ids can be raised again",
  },
  "deletes all requests of the tenant with a thread": {
    change: (store) => {
      const hidden = new Set<string>();
      return {
        async delete(key) {
          for (const { id } of await store.requests(key.tenant)) hidden.add(id);
          return store.delete(key);
        },
        requests: async (tenant) => (await store.requests(tenant)).filter(({ id }) => !hidden.has(id)),
      };
    },
    caught: "a deleted thread takes its requests with it, open and closed; their ids can be raised again",
  },
  "hands out its own requests": {
    change: (store) => {
      const own = new Map<string, RequestRow>();
      return {
        async requests(tenant) {
          const rows = await store.requests(tenant);
          return rows.map((row) => own.get(row.id) ?? own.set(row.id, row).get(row.id)!);
        },
      };
    },
    caught: "requests and rules handed out or in change nothing later",
  },
  "trims ids of requests": {
    change: rewritten((append) => (append.close ? { ...append, close: append.close.map((id) => id.trim()) } : append)),
    caught: "ids and bodies of requests and rules may have any characters",
  },
  "lists the first thousand requests": {
    change: (store) => ({ requests: async (tenant) => (await store.requests(tenant)).slice(0, 999) }),
    caught: "a thousand open requests and more closed ones are listed whole",
  },
  "leaves damaged requests out": {
    change: (store) => ({
      requests: async (tenant) => (await store.requests(tenant)).filter(({ damaged }) => !damaged),
    }),
    caught:
      "a request that is damaged is listed as such, in its place; the others, and those of other tenants, as they are",
  },
  "lists nothing if one request is damaged": {
    change: (store) => ({
      async requests(tenant) {
        const rows = await store.requests(tenant);
        if (rows.some(({ damaged }) => damaged)) throw new Error("damaged");
        return rows;
      },
    }),
    caught:
      "a request that is damaged is listed as such, in its place; the others, and those of other tenants, as they are",
  },
  "shows the contents of a damaged request": {
    change: (store) => ({
      requests: async (tenant, range) => (await store.requests(tenant, range)).map((row) => without(row, "damaged")),
    }),
    caught:
      "a request that is damaged is listed as such, in its place; the others, and those of other tenants, as they are",
  },
  "lists damaged requests after the others": {
    change: (store) => ({
      async requests(tenant) {
        const rows = await store.requests(tenant);
        return [...rows.filter(({ damaged }) => !damaged), ...rows.filter(({ damaged }) => damaged)];
      },
    }),
    caught:
      "a request that is damaged is listed as such, in its place; the others, and those of other tenants, as they are",
  },
};
