// A changed byte in a store is reported, and never believed.

import { deepEqual } from "node:assert/strict";
import type { StoreCheck } from "./bench.ts";

export const damageCases = {
  "a request that is damaged is listed as such, in its place; the others, and those of other tenants, as they are":
    async (t) => {
      const elsewhere = `${t.tenant}-other`;
      const raised = ["a", "b", "c", "d"].map((id) => ({ id, body: `{"of":"${id}"}`, expiresAt: 9_000 }));
      for (const tenant of [t.tenant, elsewhere]) {
        await t.append(t.key("one", tenant), t.taking(0, { raise: raised.slice(0, 3), release: true }));
        await t.append(t.key("two", tenant), t.taking(0, { raise: raised.slice(3), release: true }));
      }
      const [a, b, c, d] = raised.map((each) => ({ ...each, threadId: each.id === "d" ? "two" : "one" }));
      deepEqual([...(await t.store.requests(t.tenant))], [a, b, c, d]);
      await t.damageRequest(t.tenant, "b");
      const bare = (id: string, threadId: string) => ({ id, threadId, body: "", damaged: true });
      deepEqual([...(await t.store.requests(t.tenant))], [a, bare("b", "one"), c, d]);
      await t.damageRequest(t.tenant, "d");
      deepEqual([...(await t.store.requests(t.tenant))], [a, bare("b", "one"), c, bare("d", "two")]);
      deepEqual([...(await t.store.requests(elsewhere))], [a, b, c, d]);
      await t.append(t.key("one"), t.taking(1, { close: ["a", "c"], release: true }));
      deepEqual([...(await t.store.requests(t.tenant))], [bare("b", "one"), bare("d", "two")]);
      await t.store.delete(t.key("one"));
      deepEqual([...(await t.store.requests(t.tenant))], [bare("d", "two")]);
      await t.store.delete(t.key("two"));
      deepEqual([...(await t.store.requests(t.tenant))], []);
    },
} satisfies Record<string, StoreCheck>;
