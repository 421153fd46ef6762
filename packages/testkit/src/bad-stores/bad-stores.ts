// Stores that break the contract in one way each, and the case of the suite that catches it: the suite must be able to fail.

import type { Store } from "@belay/core";
import { type Append, type Command, type ThreadKey, wrapStore } from "@belay/core/inside";
import type { StoreCaseName } from "@belay/core/testing";

export type Change = (store: Store) => Partial<Store>;

export interface BadStore {
  readonly change: Change;
  readonly caught: StoreCaseName;
}

/** The store's own methods, with some of them replaced. */
export function changed(store: Store, change: Change): Store {
  return wrapStore(store, change(store));
}

const nameOf = (key: ThreadKey) => JSON.stringify([key.tenant, key.threadId]);
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Every key given to `store` is changed first. */
function renamed(rename: (key: ThreadKey) => ThreadKey): Change {
  return (store) => ({
    load: (key, after) => store.load(rename(key), after),
    append: (key, append) => store.append(rename(key), append),
    send: (key, command) => store.send(rename(key), command),
    linesSync: (key, since) => store.linesSync?.(rename(key), since) ?? [],
  });
}

export const badStores: Record<string, BadStore> = {
  "does not look at the fence": {
    change: (store) => {
      const fences = new Map<string, number>();
      return {
        async append(key, append) {
          const fence = fences.get(nameOf(key));
          const writer = "fence" in append.writer && fence !== undefined ? { ...append.writer, fence } : append.writer;
          const appended = await store.append(key, { ...append, writer });
          if (appended.ok) fences.set(nameOf(key), appended.fence);
          return appended;
        },
      };
    },
    caught: "a writer that lost its lease to another writes nothing",
  },
  "does not look at the head": {
    change: (store) => ({
      async append(key, append) {
        const expect = (await store.load(key))?.row.head ?? 0;
        return store.append(key, { ...append, expect });
      },
    }),
    caught: "an append on another head than the writer saw is refused, with the head there is",
  },
  "looks at the head, then writes: in two transactions": {
    change: (store) => ({
      async append(key, append) {
        const head = (await store.load(key))?.row.head ?? 0;
        if (head !== append.expect) return store.append(key, append);
        await tick();
        const expect = (await store.load(key))?.row.head ?? 0;
        return store.append(key, { ...append, expect });
      },
    }),
    caught: "of many appends on one head one is written",
  },
  "forgets the id of the last append": {
    change: (store) => {
      let n = 0;
      return {
        append(key, append) {
          n += 1;
          return store.append(key, { ...append, appendId: `${append.appendId}.${n}` });
        },
      };
    },
    caught: "an append repeated under its id is answered as it was then, and written once",
  },
  "recognises a repeated append only while its lease is held": {
    change: (store) => ({
      async append(key, append) {
        const leased = (await store.load(key))?.row.lease !== undefined;
        return store.append(
          key,
          leased ? append : { ...append, appendId: `${append.appendId}.again.${Math.random()}` },
        );
      },
    }),
    caught: "an append that gave the lease back is known when it is repeated, and does not take it again",
  },
  "recognises every append of the past": {
    change: (store) => {
      const seen = new Map<string, number>();
      return {
        async append(key, append) {
          const fence = seen.get(append.appendId);
          if (fence !== undefined) return { ok: true, fence, mail: false };
          const appended = await store.append(key, append);
          if (appended.ok) seen.set(append.appendId, appended.fence);
          return appended;
        },
      };
    },
    caught: "an append that was followed by another is refused when it is repeated",
  },
  "lets any process take a held lease": {
    change: (store) => ({
      async append(key, append) {
        const lease = (await store.load(key))?.row.lease;
        if ("take" in append.writer && lease !== undefined) await store.release(key, lease.fence);
        return store.append(key, append);
      },
    }),
    caught: "a lease keeps others out, and names its owner and its end",
  },
  "does not make a lease last by an append": {
    change: (store) => ({
      async append(key, append) {
        const until = (await store.load(key))?.row.lease?.until;
        const appended = await store.append(key, append);
        const started = "take" in append.writer || append.release || until === undefined;
        if (appended.ok && !started) await store.renew(key, appended.fence, 1_000);
        return appended;
      },
    }),
    caught: "an append makes the lease last from now on",
  },
  "says of every lease that it was renewed": {
    change: (store) => ({
      async renew(key, fence, ttlMs) {
        await store.renew(key, fence, ttlMs);
        return true;
      },
    }),
    caught: "renewing prolongs a lease, for any owner",
  },
  "gives back whatever lease there is": {
    change: (store) => ({
      async release(key) {
        const lease = (await store.load(key))?.row.lease;
        if (lease !== undefined) await store.release(key, lease.fence);
      },
    }),
    caught: "giving back the lease of another owner does nothing",
  },
  "shows leases that have ended": {
    change: (store) => {
      const last = new Map<string, NonNullable<NonNullable<Awaited<ReturnType<Store["load"]>>>["row"]["lease"]>>();
      return {
        async load(key, after) {
          const loaded = await store.load(key, after);
          if (loaded?.row.lease !== undefined) last.set(nameOf(key), loaded.row.lease);
          const lease = last.get(nameOf(key));
          return loaded && lease ? { ...loaded, row: { ...loaded.row, lease } } : loaded;
        },
      };
    },
    caught: "a lease ends by the store's clock; then it is not shown, and can be taken with a higher fence",
  },
  "counts fences for each thread from one": {
    change: (store) => {
      const fences = new Map<string, number[]>();
      const of = (key: ThreadKey) => fences.get(nameOf(key)) ?? [];
      return {
        async append(key, append) {
          const { writer } = append;
          const inner = "fence" in writer ? { ...writer, fence: of(key)[writer.fence - 1] ?? 0 } : writer;
          const appended = await store.append(key, { ...append, writer: inner });
          if (!appended.ok) return appended;
          if (!of(key).includes(appended.fence)) fences.set(nameOf(key), [...of(key), appended.fence]);
          return { ...appended, fence: of(key).indexOf(appended.fence) + 1 };
        },
        async delete(key) {
          fences.delete(nameOf(key));
          return store.delete(key);
        },
      };
    },
    caught: "a writer of a deleted thread does not write to one made again under its name",
  },
  "lets a session of an earlier thread take one of its name": {
    change: (store) => ({
      append: (key, { since: _since, ...append }) => store.append(key, append),
    }),
    caught: "a session of a deleted thread does not take one made again under its name with the same head",
  },
  "consumes commands also when it refuses the append": {
    change: (store) => {
      const gone = new Set<string>();
      const shown = (key: ThreadKey, command: Command) => !gone.has(nameOf(key) + command.key);
      return {
        append(key, append: Append) {
          for (const each of append.consume ?? []) gone.add(nameOf(key) + each);
          return store.append(key, append);
        },
        async load(key, after) {
          const loaded = await store.load(key, after);
          return loaded && { ...loaded, commands: loaded.commands.filter((command) => shown(key, command)) };
        },
      };
    },
    caught: "a refused append consumes nothing",
  },
  "consumes all commands": {
    change: (store) => ({
      async append(key, append) {
        const consume = (await store.load(key))?.commands.map((command) => command.key) ?? [];
        return store.append(key, append.consume === undefined ? append : { ...append, consume });
      },
    }),
    caught: "an append consumes exactly the commands it names",
  },
  "takes a command twice under one key": {
    change: (store) => ({
      async send(key, command) {
        return (await store.send(key, command)) || store.send(key, { ...command, key: `${command.key} again` });
      },
    }),
    caught: "a command is sent once under one key",
  },
  "forgets the keys of consumed commands": {
    change: (store) => ({
      async send(key, command) {
        const waits = (await store.load(key))?.commands.some((each) => each.key === command.key);
        return (await store.send(key, command)) || (!waits && store.send(key, { ...command, key: `${command.key}'` }));
      },
    }),
    caught: "a consumed command stays known by its key",
  },
  "sorts commands by their time": {
    change: (store) => ({
      async load(key, after) {
        const loaded = await store.load(key, after);
        return loaded && { ...loaded, commands: [...loaded.commands].sort((a, b) => a.at - b.at) };
      },
    }),
    caught: "commands wait as they were given, in the order they were sent",
  },
  "makes a thread for a command": {
    change: (store) => ({
      async send(key, command) {
        const none = (await store.load(key)) === undefined;
        const blank = { appendId: "x", expect: 0, count: 0, at: 0, body: "", agent: "", state: "created" } as const;
        if (none) await store.append(key, { ...blank, writer: { take: "x", ttlMs: 1 }, release: true });
        return store.send(key, command);
      },
    }),
    caught: "a command for a thread that is not there is refused, and does not make it",
  },
  "leaves out a line that begins before the cursor": {
    change: (store) => ({
      async load(key, after: number | "snapshot" = 0) {
        const loaded = await store.load(key, after);
        return loaded && { ...loaded, lines: loaded.lines.filter((line) => line.seq > Number(after)) };
      },
    }),
    caught: "lines can be read after any cursor, also in the middle of one",
  },
  "hands out its own arrays": {
    change: (store) => {
      const handed = new Map<string, unknown[]>();
      return {
        async load(key, after) {
          const loaded = await store.load(key, after);
          if (loaded === undefined || after !== undefined) return loaded;
          const lines = handed.get(nameOf(key)) ?? [];
          handed.set(nameOf(key), lines);
          lines.splice(0, lines.length, ...loaded.lines);
          return { ...loaded, lines: lines as never };
        },
      };
    },
    caught: "returned values do not change later, with any use of them",
  },
  "keeps the command it was handed": {
    change: (store) => {
      const given = new Map<string, Command>();
      return {
        send(key, command) {
          given.set(command.key, command);
          return store.send(key, command);
        },
        async load(key, after) {
          const loaded = await store.load(key, after);
          return loaded && { ...loaded, commands: loaded.commands.map((each) => given.get(each.key) ?? each) };
        },
      };
    },
    caught: "passed values may change later without effect",
  },
  "reads stale lines without waiting": {
    change: (store) => ({ linesSync: (key) => store.linesSync?.(key).slice(0, 1) ?? [] }),
    caught: "reads without waiting give the present lines",
  },
  "reads any thread of the name without waiting": {
    change: (store) => ({ linesSync: (key) => store.linesSync?.(key) ?? [] }),
    caught: "reads without waiting are of the known thread, and of none made again under its name",
  },
  "mixes tenants": {
    change: renamed((key) => ({ ...key, tenant: "one for all" })),
    caught: "tenants see nothing of each other",
  },
  "joins tenant and thread by a slash": {
    change: renamed((key) => ({ tenant: "", threadId: `${key.tenant}/${key.threadId}` })),
    caught: "a tenant and a thread do not run into each other",
  },
  "trims names": {
    change: renamed((key) => ({ ...key, threadId: key.threadId.trim() })),
    caught: "names of any characters are kept apart and come back as given",
  },
  "ends names at a NUL": {
    change: (store) => ({ send: (key, command) => store.send(key, { ...command, key: command.key.split("\0")[0]! }) }),
    caught: "names of any characters are kept apart and come back as given",
  },
  "replaces half characters": {
    change: (store) => ({
      append: (key, append) => store.append(key, { ...append, body: append.body.toWellFormed() }),
    }),
    caught: "a body comes back character by character",
  },
  "cuts long bodies": {
    change: (store) => ({
      append: (key, append) => store.append(key, { ...append, body: append.body.slice(0, 65_536) }),
    }),
    caught: "a body of a megabyte comes back whole, more than once",
  },
  "lists threads as they come": {
    change: (store) => ({
      threads: async (tenant) => (await store.threads(tenant)).sort((a, b) => (a.threadId < b.threadId ? -1 : 1)),
    }),
    caught: "threads are listed as they are, the last changed first",
  },
  "changes updatedAt with a command": {
    change: (store) => {
      const sent = new Map<string, number>();
      return {
        send(key, command) {
          sent.set(nameOf(key), command.at);
          return store.send(key, command);
        },
        async load(key, after) {
          const loaded = await store.load(key, after);
          const updatedAt = sent.get(nameOf(key));
          return loaded && updatedAt ? { ...loaded, row: { ...loaded.row, updatedAt } } : loaded;
        },
      };
    },
    caught: "agent, state and updatedAt are those of the last append, createdAt that of the first",
  },
  "keeps deleted threads": {
    change: () => ({ delete: async () => true }),
    caught: "a deleted thread is gone with its commands, and can be made again from nothing",
  },
  "relays bodies to readers that have left": {
    change: (store) => ({
      relay(key, side, heard) {
        const line = store.relay!(key, side, heard)!;
        return { say: line.say, leave: () => {} };
      },
    }),
    caught:
      "the owner's bodies reach every reader of its thread, and a reader's the owner, whole and in order, until they leave",
  },
  "relays the bodies of one thread to the readers of another": {
    change: (store) => ({ relay: ({ tenant }, side, heard) => store.relay!({ tenant, threadId: "" }, side, heard) }),
    caught:
      "the owner's bodies reach every reader of its thread, and a reader's the owner, whole and in order, until they leave",
  },
  "tells watchers nothing": {
    change: () => ({ watch: () => () => {} }),
    caught: "a watcher gets appends and commands, also of a thread that did not exist, until it leaves",
  },
  "calls watchers that have left": {
    change: (store) => ({
      watch(key, told) {
        store.watch(key, told);
        return () => {};
      },
    }),
    caught: "a watcher gets appends and commands, also of a thread that did not exist, until it leaves",
  },
};
