import { heldStore, type Kit, listen, openKit, shown, type ToolOptions, unpaired } from "@belay/testkit";
import { expect, test } from "vitest";
import { jsonSchema, type Model, type ModelEvent, memoryStore, messageText, tool } from "../../index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

/** Says some words and makes four calls; after their results it says some more. It never waits for a timer. */
const model: Model = {
  id: "ticking",
  async *stream(request): AsyncGenerator<ModelEvent> {
    const late = request.messages.some(({ role }) => role === "tool");
    for (const text of late ? ["Four ", "five."] : ["One ", "two ", "three."]) {
      await ticks(2);
      yield { type: "text", text };
    }
    if (!late) {
      for (const name of ["quick", "slow", "alone", "steps"]) yield { type: "call", id: name, tool: name, args: {} };
    }
    yield { type: "finish", finish: late ? "stop" : "tool-calls" };
  },
};

/** A session with tools of every kind, and a watch on all that must never happen. */
async function world(storeTicks: number) {
  const wrong: string[] = [];
  const effects: string[] = [];
  const running = new Set<string>();
  const watch = { stopped: false };
  const make = (name: string, execute: Options["execute"], more: Partial<Options> = {}) =>
    tool({ name, description: "", input: anything, execute, ...more });
  const begin = (id: string) => {
    if (watch.stopped) wrong.push(`${id} started after the stop`);
    effects.push(id);
    running.add(id);
  };
  const tools = [
    make("quick", (_args, ctx) => {
      begin(ctx.callId);
      running.delete(ctx.callId);
      return "quick";
    }),
    make("slow", async (_args, ctx) => {
      begin(ctx.callId);
      await ticks(12);
      running.delete(ctx.callId);
      return "slow";
    }),
    make(
      "alone",
      async (_args, ctx) => {
        begin(ctx.callId);
        await ticks(4);
        running.delete(ctx.callId);
        ctx.checkInterrupt();
        return "alone";
      },
      { serial: true },
    ),
    make("steps", async function* (_args, ctx) {
      begin(ctx.callId);
      try {
        yield 1;
        await ticks(4);
        yield 2;
      } finally {
        running.delete(ctx.callId);
      }
    }),
  ];
  const hold = () => (storeTicks === 0 ? undefined : ticks(storeTicks));
  const store = heldStore(memoryStore(), { before: hold, after: hold });
  const kit = await openKit(model, { tools, store });
  return { kit, wrong, effects, running, watch };
}

type World = Awaited<ReturnType<typeof world>>;

/** Runs a segment, stops it after `after` ticks, and checks the record. Returns true if the stop came in time. */
async function stretch({ kit, wrong, running, watch }: World, run: ReturnType<Kit["session"]["run"]>, after: number) {
  const { session } = kit;
  const textBefore = kept(kit);
  watch.stopped = false;
  const heard = listen(run);
  await ticks(after);
  watch.stopped = true;
  const receipt = await session.interrupt();
  const stillRunning = [...running].filter((id) => !receipt.late.includes(id));
  if (stillRunning.length > 0) wrong.push(`at the receipt ${stillRunning} ran`);
  const expected = receipt.accepted ? "paused" : "completed";
  if (session.state !== expected) wrong.push(`accepted ${receipt.accepted}, but ${session.state}`);
  const { status } = await run.result;
  if (status !== (receipt.accepted ? "interrupted" : "completed")) wrong.push(`result ${status}`);
  const events = await heard.all;
  wrong.push(...unpaired(events).map((one) => `no pair: ${one}`));
  if (kept(kit) !== textBefore + shown(events)) wrong.push(`shown ${shown(events)}, kept ${kept(kit)}`);
  if (events.filter((event) => event.type === "action").length > 1) wrong.push("two interrupts");
  return receipt.accepted;
}

function kept(kit: Kit): string {
  return kit.session.messages.map((message) => (message.role === "assistant" ? messageText(message) : "")).join("");
}

/** Stops at `first`; resumes; stops again at `second`, if it is given; resumes to the end. */
async function stopAt(first: number, second: number | undefined, storeTicks: number, input: string | undefined) {
  const here = await world(storeTicks);
  const { kit, wrong, effects, watch } = here;
  const options = input === undefined ? {} : { input };
  let paused = await stretch(here, kit.session.run("go"), first);
  const inTime = paused;
  if (paused && second !== undefined) paused = await stretch(here, kit.session.resume(options), second);
  if (paused) {
    watch.stopped = false;
    const end = await kit.session.resume(options).result;
    if (end.status !== "completed") wrong.push(`could not go on: ${JSON.stringify(end)}`);
  }
  if (effects.length !== new Set(effects).size) wrong.push(`ran twice: ${effects}`);
  for (const part of kit.session.messages.flatMap(({ parts }) => parts)) {
    if (part.type === "call" && input === undefined && !effects.includes(part.id)) wrong.push(`${part.id} never ran`);
    if (part.type === "result" && (part.outcome === "not-executed") === effects.includes(part.id)) {
      wrong.push(`${part.id} reads ${part.outcome}; what ran: ${effects}`);
    }
  }
  wrong.push(...kit.problems());
  const at = `${first}${second === undefined ? "" : `, ${second}`}`;
  return { inTime, wrong: wrong.map((one) => `stop at ${at}: ${one}`) };
}

const cases = [0, 7].flatMap((storeTicks) => [undefined, "something else"].map((input) => ({ storeTicks, input })));

test.each(cases)(
  "S1–S4, H1, X2, X3: a stop at every tick of a run (store: $storeTicks ticks, then: $input)",
  async ({ storeTicks, input }) => {
    const wrong: string[] = [];
    let at = 0;
    for (; at < 2000; at++) {
      const one = await stopAt(at, undefined, storeTicks, input);
      wrong.push(...one.wrong);
      if (!one.inTime) break;
    }
    expect(wrong.slice(0, 10)).toEqual([]);
    expect(at, "the run was long enough to be stopped at many places, and came to its end").toBeGreaterThan(80);
    expect(at).toBeLessThan(2000);
  },
);

test.each(cases)(
  "S1–S4, H1, X2, X3: a second stop after a resume (store: $storeTicks ticks, then: $input)",
  async ({ storeTicks, input }) => {
    const wrong: string[] = [];
    for (let first = 0; first < 150; first += 7) {
      for (let second = 0; second < 120; second += 11)
        wrong.push(...(await stopAt(first, second, storeTicks, input)).wrong);
    }
    expect(wrong.slice(0, 10)).toEqual([]);
  },
);
