import { eachStore, gate, openKit, toolOf, until, wrapStore } from "@belay/testkit";
import { expect, test } from "vitest";
import { memoryStore } from "../../index.ts";
import { fakeClock, type ScriptedTurn } from "../../testing/index.ts";

test.each(eachStore)("a lease is renewed only if no append has made it last on $name", async ({ make }) => {
  const inner = await make();
  let renewals = 0;
  const store = wrapStore(inner, {
    renew: (...args) => {
      renewals += 1;
      return inner.renew(...args);
    },
  });
  const busy = toolOf("busy", async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return "ok";
  });
  const end = gate<string>();
  const slow = toolOf("slow", () => end.opened);
  const calls: ScriptedTurn[] = Array.from({ length: 60 }, () => [{ call: "busy" }]);
  const kit = await openKit([...calls, [{ call: "slow" }], "done"], { store, tools: [busy, slow], leaseTtlMs: 600 });
  const run = kit.session.run("go");
  const heard = (async () => {
    for await (const event of run) if (event.type === "tool-start" && event.tool === "slow") return renewals;
    return -1;
  })();
  // Sixty turns take as long as three renewals; each made the lease last.
  expect(await heard).toBeLessThan(2);
  await until(() => renewals >= 2);
  end.open("ok");
  expect(await run.result).toMatchObject({ status: "completed" });
});

test("runners of one process renew at the same moments, whenever their runs began", async () => {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  const renewals: string[] = [];
  const store = wrapStore(inner, {
    renew: (key, ...rest) => {
      renewals.push(`${key.tenant} at ${clock.now() % 100}`);
      return inner.renew(key, ...rest);
    },
  });
  const ends = gate<string>();
  const slow = toolOf("slow", () => ends.opened);
  const kits = [];
  for (const tenant of ["a", "b"]) {
    const kit = await openKit([[{ call: "slow" }], "done"], {
      store,
      clock,
      tools: [slow],
      runner: { tenant },
      leaseTtlMs: 300,
    });
    const run = kit.session.run("go");
    for await (const event of run) if (event.type === "tool-start") break;
    kits.push(run);
    await clock.advance(37);
  }
  for (let i = 0; i < 40; i++) await clock.advance(10);
  const moments = new Set(renewals.map((each) => each.split(" at ")[1]));
  expect(renewals.length).toBeGreaterThanOrEqual(4);
  expect(moments.size).toBe(1);
  ends.open("ok");
  for (const run of kits) expect(await run.result).toMatchObject({ status: "completed" });
});
