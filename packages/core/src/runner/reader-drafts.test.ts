import { expect, test } from "vitest";
import { isFact } from "../event.ts";
import { eachStore } from "../testing/each-store.ts";
import { openKit, said, settle } from "../testing/session-kit.ts";

for (const { name, make } of eachStore) {
  test(`E1, E3 (${name}): a reader that takes its time, and a word from the store meanwhile: every turn that starts has its end`, async () => {
    const { session } = await openKit(["one", "two"], { store: await make() });
    const stop = new AbortController();
    const reader = session.events({ signal: stop.signal })[Symbol.asyncIterator]();
    await session.run("go").result;
    // Nobody runs it now: the store says that something has come, and readers look there.
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
}
