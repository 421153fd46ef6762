// The relay of drafts (L1). A store without one, or without a way to relay in its place, passes.

import { deepEqual, equal, ok } from "node:assert/strict";
import { type StoreCheck, times } from "./bench.ts";

/** Longer than any message of a database; with characters of one to four bytes. */
const long = (words: string) => `${words} ${'aé€👩‍👧\n"\\'.repeat(9_000)} ${words}`;

export const relayCases = {
  "the owner's bodies reach every reader of its thread, and a reader's the owner, whole and in order, until they leave":
    async (t) => {
      const [key, elsewhere] = [t.key(), t.key("elsewhere")];
      // A line relays while a reader watches.
      const leave = [key, elsewhere].map((each) => t.store.watch(each, () => {}));
      const heard: Record<string, string[]> = { one: [], two: [], other: [], owner: [] };
      const join = (of: typeof key, side: "owner" | "reader", name: string) =>
        t.store.relay?.(of, side, (body) => heard[name]!.push(body));
      const [one, two] = [join(key, "reader", "one"), join(key, "reader", "two")];
      const other = join(elsewhere, "reader", "other");
      const owner = join(key, "owner", "owner");
      if (one === undefined || two === undefined || other === undefined || owner === undefined) {
        for (const end of leave) end();
        return;
      }
      // It may take a moment until all of them receive.
      for (let i = 0; heard.one!.length === 0 || heard.two!.length === 0 || heard.owner!.length === 0; i += 1) {
        ok(i < 1_000, "no body was heard");
        owner.say("hello");
        one.say("hello");
        await new Promise((over) => setTimeout(over, 20));
      }
      for (const name in heard) heard[name] = heard[name]!.filter((body) => body !== "hello");
      const bodies = times(20, (i) => (i === 7 ? long("seven") : `body ${i}`));
      for (const body of bodies) owner.say(body);
      two.say(long("call"));
      await t.until(() => [...heard.one!, ...heard.two!].length >= 2 * bodies.length, "the owner's bodies");
      await t.until(() => heard.owner!.includes(long("call")), "the reader's body");
      const told = (name: string) => heard[name]!.filter((body) => body !== "hello");
      deepEqual([told("one"), told("two"), told("other")], [bodies, bodies, []]);
      one.leave();
      owner.say("last");
      await t.until(() => heard.two!.includes("last"), "a body after one has left");
      equal(heard.one!.includes("last"), false, "told after it had left");
      for (const line of [two, other, owner]) line.leave();
      for (const end of leave) end();
    },
} satisfies Record<string, StoreCheck>;
