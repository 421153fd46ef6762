// A resume beside an answer to the request that the thread waits for.

import { eachStore, openKit, paying, requestOf, threadOf, until, waiting } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve } from "../../index.ts";

describe.each(eachStore)("a resume() beside an answer ($name)", ({ make }) => {
  test("Q3: at once: the call runs once, and the run ends", async () => {
    for (let delay = 0; delay < 6; delay++) {
      const { tools, ran } = paying();
      const kit = await waiting(["a"], { store: await make(), tools });
      const { id } = requestOf(kit, "a");
      const first = delay % 2 === 0 ? kit.session.answer(id, approve()) : undefined;
      for (let i = 0; i < delay; i++) await Promise.resolve();
      const run = kit.session.resume();
      const second = first ?? kit.session.answer(id, approve());
      expect(await second).toEqual({ open: 0 });
      const result = await run.result;
      if (result.status === "interrupted") await kit.session.resume().result;
      expect(kit.session.state).toBe("completed");
      expect([ran, kit.requests.length, kit.problems()]).toEqual([["pay 1"], 2, []]);
    }
  });

  test("V2: it begins if another process has taken the answer under the same id", async () => {
    for (let delay = 0; delay < 8; delay++) {
      const { tools, ran } = paying();
      const store = await make();
      const kit = await waiting(["a"], { store, tools });
      const { id } = requestOf(kit, "a");
      const other = await openKit([], { store, tools });
      expect(await other.session.answer(id, approve(), { id: "x" })).toEqual({ open: 0 });
      await until(() => !threadOf(other.session).isWriting);
      const again = kit.session.answer(id, approve(), { id: "x" });
      for (let i = 0; i < delay; i++) await Promise.resolve();
      const run = kit.session.resume();
      expect(await again).toEqual({ open: 0 });
      expect(await run.result).toMatchObject({ status: "completed" });
      expect(ran).toEqual(["pay 1"]);
    }
  });
});
