// Text through the server: no reader misses any of it, however slowly it reads.

import { agent, createRunner } from "@belay/core";
import { expect, test } from "vitest";
import { belayServer } from "./index.ts";

const CHUNKS = 40_000;
const TEXT = Array.from({ length: CHUNKS }, (_, i) => `word ${i} 🧗 `).join("");

/** Speaks as fast as its readers allow. Each chunk is a turn of the event loop, as from a socket. */
const model = {
  id: "talker",
  async *stream() {
    for (let i = 0; i < CHUNKS; i++) {
      if (i % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      yield { type: "text" as const, text: `word ${i} 🧗 ` };
    }
    yield { type: "finish" as const, finish: "stop" as const };
  },
};

interface Event {
  readonly event: string;
  readonly id?: number;
  readonly data: { readonly messageId: string; readonly offset: number; readonly text: string; readonly type: string };
}

/** Reads to the end of the run. `pause` is awaited after each chunk of bytes. */
async function read(response: Response, pause: () => Promise<void>): Promise<readonly Event[]> {
  const events: Event[] = [];
  let rest = "";
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + bytes).split("\n\n");
    rest = blocks.pop()!;
    for (const each of blocks) {
      const fields = Object.fromEntries(each.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.event === undefined) continue;
      events.push({ ...fields, ...(fields.id && { id: Number(fields.id) }), data: JSON.parse(fields.data) });
      if (fields.event === "run-end") return events;
    }
    await pause();
  }
  throw new Error("The stream ended before the run.");
}

test.each([
  ["a reader that keeps up", 0],
  ["a slow reader", 5],
])(
  "%s gets the whole text in order, in fewer events than pieces, and none of it after its message",
  async (_name, ms) => {
    const runner = createRunner({ agent: agent({ name: "guide", model }) });
    const server = belayServer({ runner });
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
    const send = (path: string, init: RequestInit = {}) =>
      server.fetch(new Request(`http://localhost/v1${path}`, { headers, ...init }));
    await runner.observe("t", "Hello.");
    const response = await send("/threads/t/events?after=0");
    const pause = () => (ms === 0 ? Promise.resolve() : new Promise<void>((resolve) => setTimeout(resolve, ms)));
    const reading = read(response, pause);
    await send("/threads/t/runs", { method: "POST", body: JSON.stringify({ input: "Speak." }) });
    const events = await reading;
    await server.close({ timeoutMs: 1000 });

    const facts = events.flatMap(({ id }) => id ?? []);
    expect(facts).toEqual(facts.map((_, i) => i + 1));
    const message = events.findLast(({ event }) => event === "message")!.data as never as {
      message: { id: string; parts: readonly { text: string }[] };
    };
    expect(message.message.parts[0]!.text).toBe(TEXT);
    const deltas = events.filter(({ event }) => event === "text-delta");
    let text = "";
    for (const { data } of deltas) {
      expect(data.messageId).toBe(message.message.id);
      // A piece continues the text, or repeats it from its beginning.
      expect([0, text.length]).toContain(data.offset);
      text = text.slice(0, data.offset) + data.text;
    }
    expect(text).toBe(TEXT);
    expect(deltas.length).toBeLessThan(CHUNKS / 10);
    const at = (event: string) => events.findLastIndex((each) => each.event === event);
    expect(at("text-delta")).toBeLessThan(at("message"));
  },
);
