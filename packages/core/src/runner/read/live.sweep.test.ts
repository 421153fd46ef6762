// Readers elsewhere that join, are cut off and connect again at random moments of answers, over a relay that loses bodies.

import { emptyThread, foldThread, type ThreadView } from "@belay/client";
import { gate, openKit, settle } from "@belay/testkit";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { agent, createRunner, type Model, type ModelEvent, memoryStore, type Runner, type Store } from "../../index.ts";
import { wrapStore } from "../../store/wrap-store.ts";
import { fakeClock, scriptedModel } from "../../testing/index.ts";

const { joins, seed } = inject("effort");

/** In each life of a thread. */
const MOVES = 10;

const move = fc.record({
  reader: fc.constantFrom("join", "join", "cut", "reconnect"),
  which: fc.nat(30),
  cursor: fc.nat(12),
  says: fc.array(fc.constantFrom("one ", "é👩‍👧 ", "\n", "a longer piece of text, "), { maxLength: 4 }),
  loses: fc.constantFrom(0, 0, 1, 2),
  ends: fc.constantFrom(false, false, false, true),
  waits: fc.boolean(),
});
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

interface Reader {
  readonly runner: Runner;
  view: ThreadView;
  connection: { readonly end: AbortController; readonly over: Promise<void> } | undefined;
}

function mouth() {
  const queue: ModelEvent[] = [];
  let more = gate();
  const model: Model = {
    id: "mouth",
    async *stream() {
      for (;;) {
        for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
          yield event;
          if (event.type === "finish") return;
        }
        await more.opened;
        more = gate();
      }
    },
  };
  const say = (...events: ModelEvent[]) => {
    queue.push(...events);
    more.open();
  };
  return { model, say };
}

const finish: ModelEvent = { type: "finish", finish: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
const recorded = ({ draft: _draft, ...view }: ThreadView) => view;

async function live(moves: readonly Move[]): Promise<void> {
  const clock = fakeClock();
  const inner = memoryStore({ clock });
  let losing = 0;
  const relay: NonNullable<Store["relay"]> = (key, side, heard) => {
    const line = inner.relay!(key, side, heard)!;
    const say = (body: string) => {
      if (losing > 0) losing -= 1;
      else line.say(body);
    };
    return { say, leave: () => line.leave() };
  };
  const store = wrapStore(inner, { relay });
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store, clock, leaseTtlMs: 600_000 });
  const others = [0, 1].map(() =>
    createRunner({ agent: agent({ name: "helper", model: scriptedModel([]) }), store, clock }),
  );

  const follow = (reader: Pick<Reader, "runner" | "view">, seen: (view: ThreadView) => void) => {
    const end = new AbortController();
    const read = async () => {
      for await (const event of reader.runner.events("thread", { after: reader.view.head, signal: end.signal })) {
        reader.view = foldThread(reader.view, event);
        seen(reader.view);
      }
    };
    return { end, over: read() };
  };
  /** The text of each answer, as a reader in the owner's process has it. */
  const spoken = new Map<string, string>();
  const here: Reader = { runner, view: emptyThread, connection: undefined };
  here.connection = follow(here, ({ draft }) => {
    for (const { messageId, text } of draft.answers) spoken.set(messageId, text);
  });
  const readers: Reader[] = [];
  const connect = (reader: Reader) => {
    reader.connection ??= follow(reader, ({ draft }) => {
      for (const { messageId, text, missing } of draft.answers)
        if (missing === 0 && !spoken.get(messageId)?.startsWith(text)) wrong.push(text);
    });
  };
  const wrong: string[] = [];
  const pass = async () => {
    for (let i = 0; i < 3; i += 1) {
      await settle();
      await clock.advance(60);
    }
    await settle();
  };

  let run = session.run("go");
  await pass();
  for (const { reader: what, which, cursor, says, loses, ends, waits } of moves) {
    losing = loses;
    for (const text of says) say({ type: "text", text });
    if (waits) await pass();
    const reader = readers[which % Math.max(1, readers.length)];
    if (what === "join" || reader === undefined) {
      const { items } = await runner.journal("thread", { limit: cursor + 1 });
      const view = items.slice(0, cursor).reduce(foldThread, emptyThread);
      readers.push({ runner: others[which % 2]!, view, connection: undefined });
      connect(readers.at(-1)!);
    } else if (what === "reconnect") connect(reader);
    else {
      reader.connection?.end.abort();
      await reader.connection?.over;
      reader.connection = undefined;
    }
    if (!ends) continue;
    say(finish);
    await run.result;
    run = session.run("more");
    await pass();
  }
  losing = 0;
  await pass();
  // Once nothing is lost any more, connected readers have all of the text.
  for (const reader of readers) connect(reader);
  say({ type: "text", text: "last words" });
  for (let i = 0; i < 3; i += 1) await pass();
  const last = here.view.draft.answers[0]!;
  for (const { view } of readers)
    expect(view.draft.answers.map(({ messageId, text }) => [messageId, text])).toEqual([[last.messageId, last.text]]);
  say(finish);
  await run.result;
  await pass();
  expect(wrong).toEqual([]);
  for (const { view } of readers) {
    expect(recorded(view)).toEqual(recorded(here.view));
    expect(view.draft.answers).toEqual([]);
  }
  for (const each of [here, ...readers]) each.connection?.end.abort();
  await Promise.all([runner.close(), ...others.map((other) => other.close())]);
}

test("L1, L2: whenever readers join, are cut off and connect again, their text has no hole and their views are the owner's", async () => {
  const lives = fc.array(move, { minLength: MOVES, maxLength: MOVES });
  await fc.assert(fc.asyncProperty(lives, live), { numRuns: Math.ceil(joins / MOVES), seed });
});
