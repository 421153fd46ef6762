// Stores whose lists break the contract in one way each (SPEC L3, L4), and the case of the suite that catches it.

import type { Store } from "@belay/core";
import type { BadStore } from "./bad-stores.ts";

type Page = Awaited<ReturnType<Store["page"]>>;

/** A store that changes its pages. */
const pages =
  (change: (page: Page, query: Parameters<Store["page"]>[1]) => Page): BadStore["change"] =>
  (store) => ({
    page: async (tenant, query) => change(await store.page(tenant, query), query),
  });

const FILTERS = "L4: threads are found by state, pause, agent and label, alone and together";
const ORDER = "L4: a page has the last changed first, and continues after any place in it";

export const badListStores: Record<string, BadStore> = {
  "lists the first changed first": { change: pages((page) => page.toReversed()), caught: ORDER },
  "begins each page anew": {
    change: (store) => ({ page: (tenant, { after: _after, ...query }) => store.page(tenant, query) }),
    caught: FILTERS,
  },
  "gives a thread on the border of two pages twice": {
    change: (store) => ({
      page: (tenant, { after, ...query }) =>
        store.page(tenant, { ...query, after: after && { at: after.at, id: `${after.id}\u{10ffff}` } }),
    }),
    caught: FILTERS,
  },
  "leaves out threads of the same time on the border of two pages": {
    change: (store) => ({
      page: (tenant, { after, ...query }) => store.page(tenant, { ...query, after: after && { at: after.at, id: "" } }),
    }),
    caught: ORDER,
  },
  "forgets the limit": {
    change: (store) => ({ page: (tenant, query) => store.page(tenant, { ...query, limit: 1_000 }) }),
    caught: "L4: a search finds the beginnings of words in titles and in the values of labels",
  },
  "matches one label of several": {
    change: (store) => ({
      page(tenant, query) {
        const [first] = Object.entries(query.label ?? {});
        return store.page(tenant, first === undefined ? query : { ...query, label: { [first[0]]: first[1] } });
      },
    }),
    caught: FILTERS,
  },
  "keeps only the beginning of a title": {
    change: (store) => ({
      append: (key, { named, ...append }) =>
        store.append(
          key,
          named === undefined ? append : { ...append, named: { ...named, title: named.title?.slice(0, 6) ?? "" } },
        ),
    }),
    caught: "L4: a search finds the beginnings of words in titles and in the values of labels",
  },
  "lists the threads of all tenants": {
    change: (store) => {
      const tenants = new Set<string>();
      return {
        append(key, append) {
          tenants.add(key.tenant);
          return store.append(key, append);
        },
        async page(tenant, query) {
          const all = await Promise.all([...tenants, tenant].map((each) => store.page(each, query)));
          return [...new Map(all.flat().map((row) => [row.threadId, row])).values()];
        },
      };
    },
    caught: FILTERS,
  },
  "takes a pause that is over for one that holds": {
    change: (store) => ({
      append: (key, append) =>
        store.append(key, {
          ...append,
          ...(append.state === "running" && append.listed === undefined && { listed: { pauseType: "tool_interrupt" } }),
        }),
    }),
    caught: FILTERS,
  },
  "moves a running thread only when it rests": {
    change: (store) => {
      const began = new Map<string, number>();
      return {
        async append(key, append) {
          const appended = await store.append(key, append);
          if (appended.ok && !(append.state === "running" && began.has(key.threadId)))
            began.set(key.threadId, append.at);
          return appended;
        },
        async page(tenant, query) {
          const at = (row: Page[number]) => began.get(row.threadId) ?? row.updatedAt;
          return (await store.page(tenant, query)).toSorted((a, b) => at(b) - at(a));
        },
      };
    },
    caught: "L4: a running thread stands by its last append, whichever filter finds it",
  },
  "loses the title with the next append": {
    change: (store) => ({ append: (key, append) => store.append(key, { named: { labels: {} }, ...append }) }),
    caught: "L4: a row has its thread's state, cause of pause, run, name and number of open requests",
  },
  "counts closed requests as open": {
    change: pages((page) => page.map((row) => ({ ...row, open: 2 }))),
    caught: "L4: a row has its thread's state, cause of pause, run, name and number of open requests",
  },
  "hides threads that no append has listed": {
    change: pages((page) => page.filter((row) => !row.unlisted)),
    caught: "L4: a thread that no append has listed is in every list, and said to be unlisted",
  },
  "forgets how requests were decided": {
    change: (store) => ({ append: (key, { decided: _decided, ...append }) => store.append(key, append) }),
    caught: "L4: decided requests are listed, the last decided first, and each is found by its id",
  },
  "keeps the first body of a request": {
    change: (store) => ({ append: (key, { amend: _amend, ...append }) => store.append(key, append) }),
    caught: "L4: decided requests are listed, the last decided first, and each is found by its id",
  },
  "calls no watcher of a tenant": {
    change: () => ({ watchTenant: () => () => {} }),
    caught: "L3: a watcher of a tenant is called for appends to any thread of it, until it leaves",
  },
  "calls watchers of a tenant that have left": {
    change: (store) => ({
      watchTenant(tenant, changed) {
        store.watchTenant(tenant, changed);
        return () => {};
      },
    }),
    caught: "L3: a watcher of a tenant is called for appends to any thread of it, until it leaves",
  },
  "takes due threads for waiting ones": {
    change: (store) => ({
      due: async (limit, olderThanMs, tenant) => {
        const found = await store.due(limit, olderThanMs, tenant);
        const rows = await Promise.all(found.map((each) => store.load(each)));
        return found.filter((_, i) => rows[i]?.row.rest === undefined);
      },
    }),
    caught: "due are the threads that can move, of every tenant, and no others",
  },
  "looks for due threads in the first tenant only": {
    change: (store) => ({
      due: async (limit, olderThanMs, tenant) => {
        const found = await store.due(limit, olderThanMs, tenant);
        return found.filter((each) => each.tenant === found[0]!.tenant);
      },
    }),
    caught: "due are the threads that can move, of every tenant, and no others",
  },
  "lets the newest that is due go first": {
    change: (store) => ({
      due: async (limit, olderThanMs, tenant) =>
        [...(await store.due(1_000, olderThanMs, tenant))].reverse().slice(0, limit),
    }),
    caught: "due threads come in the order in which they began to wait, at most as many as asked for",
  },
};
