import { eachStore, gate, openKit, toolOf, until, wrapStore } from "@belay/testkit";
import { expect, test } from "vitest";
import type { ScriptedTurn } from "../../testing/index.ts";

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
