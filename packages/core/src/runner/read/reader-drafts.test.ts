import { eachStore, gate, heldStore, listen, openKit, said, settle } from "@belay/testkit";
import { expect, test } from "vitest";
import { isFact } from "../../event.ts";

for (const { name, make } of eachStore) {
  test(`E1, E3 (${name}): a reader that takes its time, and a word from the store meanwhile: every turn that starts has its end`, async () => {
    const { session } = await openKit(["one", "two"], { store: await make() });
    const stop = new AbortController();
    const reader = session.events({ signal: stop.signal })[Symbol.asyncIterator]();
    await session.run("go").result;
    // No process runs it now: the store gives a hint, and readers look there.
    await session.steer("more");
    await settle();
    const events = [];
    for (;;) {
      const { value, done } = await reader.next();
      if (done) break;
      events.push(value);
      if (value.type === "state" && value.state === "completed") break;
    }
    stop.abort();
    expect(said(events)).toEqual([
      "state initialized",
      "run-start",
      "state running",
      "message user: go",
      "turn-start 1",
      "text one",
      "message assistant: one",
      "turn-end 1",
      "run-end completed",
      "state completed",
    ]);
    expect(events.filter(isFact).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test(`E1 (${name}): a reader that loads the store between an append and its publication gets the drafts around it`, async () => {
    const written = gate();
    const tell = gate();
    const after = (_: number, { release }: { readonly release: boolean }) => {
      if (!release) return undefined;
      written.open();
      return tell.opened;
    };
    const held = heldStore(await make(), { after });
    let looks = 1;
    const load: typeof held.load = async (...given) => {
      if (looks++ === 0) await written.opened;
      return held.load(...given);
    };
    const { runner } = await openKit(["one"], { store: { ...held, load }, threadId: "another" });
    looks = 0;
    const heard = listen(runner.events("thread"));
    expect(looks).toBe(1);
    const run = (await runner.open("thread")).run("go");
    await written.opened;
    await settle();
    tell.open();
    await run.result;
    await runner.close();
    expect(said(await heard.all).slice(-5)).toEqual([
      "text one",
      "message assistant: one",
      "turn-end 1",
      "run-end completed",
      "state completed",
    ]);
  });
}
