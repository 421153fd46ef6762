// Stores that break the contract on forks, on reads, or on removal in one way each.

import type { Store } from "@belay/core";
import type { ThreadKey } from "@belay/core/inside";
import type { BadStore } from "./bad-stores.ts";

const nameOf = (key: ThreadKey) => JSON.stringify([key.tenant, key.threadId]);

const ALONE = "each method answers a tenant as if it were alone";

/** Forks that read their parent's lines when they are read themselves. */
function byName(store: Store): Partial<Store> {
  const parents = new Map<string, { key: ThreadKey; seq: number }>();
  const load: Store["load"] = async (key, after) => {
    const loaded = await store.load(key, after);
    const parent = parents.get(nameOf(key));
    if (loaded === undefined || parent === undefined || after !== undefined) return loaded;
    const shared = (await load(parent.key))?.lines ?? [];
    const own = loaded.lines.filter((line) => line.seq > parent.seq);
    return { ...loaded, lines: [...shared.filter((line) => line.seq <= parent.seq), ...own] };
  };
  return {
    load,
    async append(key, append) {
      const appended = await store.append(key, append);
      const { parent } = append;
      if (appended.ok && parent !== undefined)
        parents.set(nameOf(key), { key: { ...key, threadId: parent.threadId }, seq: parent.seq });
      return appended;
    },
  };
}

export const badForkStores: Record<string, BadStore> = {
  "makes a fork without its past": {
    change: (store) => ({
      async load(key, after) {
        const loaded = await store.load(key, after);
        const from = loaded?.row.parent?.seq ?? 0;
        return loaded && { ...loaded, lines: loaded.lines.filter((line) => line.seq > from) };
      },
    }),
    caught: "a fork has the lines of its parent up to its point, then its own; the parent does not change",
  },
  "forgets where a fork is from": {
    change: (store) => ({
      async load(key, after) {
        const loaded = await store.load(key, after);
        if (loaded === undefined) return undefined;
        const { parent: _, ...row } = loaded.row;
        return { ...loaded, row };
      },
    }),
    caught: "a fork has the lines of its parent up to its point, then its own; the parent does not change",
  },
  "reads a fork's parent only from the beginning": {
    change: (store) => ({
      async load(key, after = 0) {
        const loaded = await store.load(key, after);
        const from = loaded?.row.parent?.seq ?? 0;
        return (
          loaded && { ...loaded, lines: after === 0 ? loaded.lines : loaded.lines.filter(({ seq }) => seq > from) }
        );
      },
    }),
    caught: "a fork can be read after any cursor, in its own lines, its parent's, and in the middle of one",
  },
  "forks at the last line before the point": {
    change: (store) => ({
      async append(key, append) {
        const { parent } = append;
        const { tenant } = key;
        if (parent === undefined) return store.append(key, append);
        const lines = (await store.past({ tenant, threadId: parent.threadId }, parent.seq))?.lines ?? [];
        const last = lines.at(-1);
        const seq = last === undefined ? 0 : last.seq + last.count - 1;
        return store.append(key, { ...append, expect: seq, parent: { ...parent, seq } });
      },
    }),
    caught: "a fork is refused if its parent does not exist, or has no line that ends there",
  },
  "finds a fork's parent by its name whenever it is read": {
    change: byName,
    caught: "a parent that was deleted and made again is another thread",
  },
  "loses the past of a fork with its parent": {
    change: (store) => {
      const gone = new Set<string>();
      return {
        delete(key) {
          gone.add(nameOf(key));
          return store.delete(key);
        },
        async load(key, after) {
          const loaded = await store.load(key, after);
          const parent = loaded?.row.parent;
          if (parent === undefined || !gone.has(nameOf({ ...key, threadId: parent.threadId }))) return loaded;
          return loaded && { ...loaded, lines: loaded.lines.filter((line) => line.seq > parent.seq) };
        },
      };
    },
    caught: "deleting a parent keeps the lines that its forks need, and shows them nowhere else",
  },
  "shows the kept lines of a deleted thread": {
    change: (store) => {
      const kept = new Map<string, Awaited<ReturnType<Store["past"]>>>();
      return {
        async delete(key, head) {
          kept.set(nameOf(key), await store.past(key));
          return store.delete(key, head);
        },
        past: async (key, to) => (await store.past(key, to)) ?? kept.get(nameOf(key)),
      };
    },
    caught: "deleting a parent keeps the lines that its forks need, and shows them nowhere else",
  },
  "gives a fork its parent's commands": {
    change: (store) => ({
      async load(key, after) {
        const loaded = await store.load(key, after);
        const parent = loaded?.row.parent;
        if (loaded === undefined || parent === undefined) return loaded;
        const theirs = await store.load({ ...key, threadId: parent.threadId }, after);
        return { ...loaded, commands: [...(theirs?.commands ?? []), ...loaded.commands] };
      },
    }),
    caught: "a fork has its own lease, commands, requests, rest and snapshot",
  },
  "puts a fork in the place of a thread": {
    change: (store) => ({
      async append(key, append) {
        const there = append.parent === undefined ? undefined : await store.load(key);
        if (there !== undefined && there.row.lease === undefined) await store.delete(key);
        return store.append(key, append);
      },
    }),
    caught: "a fork does not replace an existing thread, with any holder of its lease",
  },
  "makes a fork again when it is repeated": {
    change: (store) => ({
      async append(key, append) {
        if (append.parent !== undefined) await store.delete(key);
        return store.append(key, append);
      },
    }),
    caught: "a fork repeated under its id is made once; of many made at once under one name one is",
  },
  "cuts the past in the middle of a line": {
    change: (store) => ({
      async past(key, to = Number.MAX_SAFE_INTEGER) {
        const past = await store.past(key);
        return past && { ...past, lines: past.lines.filter((line) => line.seq <= to) };
      },
    }),
    caught: "the past of a thread is its lines up to a point, whole ones only",
  },
  "deletes with any head": {
    change: (store) => ({ delete: (key) => store.delete(key) }),
    caught: "a thread that moved on, is held, or has an input or an answer waiting is not deleted by its head",
  },
  "looks at the head, then deletes: in two transactions": {
    change: (store) => ({
      async delete(key, head) {
        if (head === undefined) return store.delete(key);
        const loaded = await store.load(key);
        if (loaded?.row.head !== head || loaded.row.lease || loaded.row.queued || loaded.row.answered) return false;
        await new Promise<void>((resolve) => setImmediate(resolve));
        return store.delete(key);
      },
    }),
    caught: "of those that delete a thread by its head and those that take it, one does",
  },
  "deletes the thread of that name of every tenant": {
    change: (store) => {
      const keys = new Map<string, ThreadKey>();
      return {
        append(key, append) {
          keys.set(nameOf(key), key);
          return store.append(key, append);
        },
        async delete(key, head) {
          const deleted = await store.delete(key, head);
          if (deleted)
            for (const other of keys.values()) if (other.threadId === key.threadId) await store.delete(other);
          return deleted;
        },
      };
    },
    caught: ALONE,
  },
  "finds a request of any tenant": {
    change: (store) => {
      const tenants = new Set<string>();
      return {
        append(key, append) {
          tenants.add(key.tenant);
          return store.append(key, append);
        },
        async requestThread(tenant, id) {
          for (const each of [tenant, ...tenants]) {
            const found = await store.requestThread(each, id);
            if (found !== undefined) return found;
          }
          return undefined;
        },
      };
    },
    caught: ALONE,
  },
  "keeps the rules of all tenants together": {
    change: (store) => ({
      rules: () => store.rules("all"),
      removeRule: (_, id) => store.removeRule("all", id),
      async append(key, { remember, ...append }) {
        const appended = await store.append(key, append);
        if (!appended.ok || remember === undefined) return appended;
        const blank = { expect: 0, count: 1, at: 0, body: "", release: true, agent: "", state: "created" } as const;
        const writer = { take: "rules", ttlMs: 1 };
        const own = { tenant: "all", threadId: append.appendId + key.tenant };
        await store.append(own, { ...blank, appendId: append.appendId, writer, remember });
        return appended;
      },
    }),
    caught: ALONE,
  },
  "finds a fork's parent in any tenant": {
    change: (store) => {
      const tenants = new Set<string>();
      return {
        async append(key, append) {
          const { parent } = append;
          tenants.add(key.tenant);
          const appended = await store.append(key, append);
          if (appended.ok || appended.why !== "orphan" || parent === undefined) return appended;
          const { parent: _, ...rest } = append;
          for (const tenant of tenants)
            if ((await store.load({ tenant, threadId: parent.threadId })) !== undefined)
              return store.append(key, { ...rest, expect: 0 });
          return appended;
        },
      };
    },
    caught: ALONE,
  },
  "says of every thread that it was deleted": {
    change: (store) => ({
      async delete(key, head) {
        await store.delete(key, head);
        return true;
      },
    }),
    caught: "deleting says whether there was anything",
  },
};
