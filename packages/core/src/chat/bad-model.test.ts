import { history, listen, openKit, said } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { jsonSchema, type Model, type ModelEvent, tool } from "../index.ts";

/** A model that says these events in its first turn, and "ok" in the next. */
function says(...events: unknown[]): Model {
  let turn = 0;
  return {
    id: "raw",
    async *stream() {
      turn += 1;
      if (turn > 1) yield { type: "text", text: "ok" } satisfies ModelEvent;
      else for (const event of events) yield event as ModelEvent;
    },
  };
}

/** A value that throws when it is read. */
function odd(): Error {
  const look = () => {
    throw new Error("do not look");
  };
  return Object.defineProperties(new Error("odd"), { status: { get: look }, cause: { get: look } });
}

describe("models that do not behave", () => {
  it("a call id that repeats, in one answer or later, or that does not fit, becomes ours; results go with it", async () => {
    const ran: string[] = [];
    const note = tool({
      name: "note",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: (_args, ctx) => void ran.push(ctx.callId),
    });
    const calls = ["same", "same", "", "not/fit", "x".repeat(65)].map((id) => ({ call: "note", id }));
    const kit = await openKit([calls, [{ call: "note", id: "same" }], "ok"], { tools: [note] });
    expect((await kit.session.run("go").result).status).toBe("completed");
    expect(new Set(ran).size).toBe(6);
    expect(ran[0]).toBe("same");
    expect(ran.slice(1)).not.toContain("same");
    for (const id of ran) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(kit.problems()).toEqual([]);
  });

  it("a model without text or calls ends the run with no text, and leaves no message", async () => {
    const kit = await openKit([[], " \n", "ok"]);
    expect(await kit.session.run("a").result).toMatchObject({ status: "completed", text: "", output: "" });
    expect(await kit.session.run("b").result).toMatchObject({ status: "completed", text: " \n" });
    await kit.session.run("c").result;
    expect(history(kit.requests[2]!.messages)).toEqual(["user: a", "user: b", "user: c"]);
    expect(kit.problems()).toEqual([]);
  });

  for (const [what, stream] of [
    [
      "throws at once",
      () => {
        throw new Error("at once");
      },
    ],
    ["gives nothing", () => undefined],
    ["gives what is no iterable", () => ({})],
    [
      "gives an iterator that throws",
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            throw new Error("x");
          },
        }),
      }),
    ],
    [
      "gives an iterator without promises",
      () => ({ [Symbol.asyncIterator]: () => ({ next: () => ({ done: true }) }) }),
    ],
    [
      "throws what throws when it is looked at",
      () => {
        throw odd();
      },
    ],
    [
      "ends with what throws when it is looked at",
      // biome-ignore lint/correctness/useYield: it ends before it says anything.
      async function* () {
        throw odd();
      },
    ],
    [
      "says null",
      async function* () {
        yield null;
      },
    ],
    [
      "says text without text",
      async function* () {
        yield { type: "text" };
      },
    ],
  ] as const) {
    it.each([
      ["", undefined],
      [", with hooks around it,", { afterModel: () => {} }],
    ])(`a model whose stream() ${what}%s is MODEL_FAILED, and the thread can continue`, async (_, hooks) => {
      let broken = true;
      const fine = says().stream;
      const model = {
        id: "bad",
        stream: (...args: Parameters<typeof fine>) => (broken ? stream() : fine(...args)),
      };
      const kit = await openKit(model as never, hooks && { agent: { hooks } });
      expect(await kit.session.run("go").result).toMatchObject({ status: "failed", error: { code: "MODEL_FAILED" } });
      broken = false;
      expect((await kit.session.resume().result).status).toBe("completed");
    });
  }

  it("unknown events are left out; events after finish too", async () => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const kit = await openKit(
      says(
        { type: "new-thing", x: 1 },
        { type: "text", text: "hi" },
        { type: "finish", finish: "stop", usage },
        { type: "text", text: "!" },
      ),
    );
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed", text: "hi", usage });
  });

  it("usage that is no number is not counted and not recorded", async () => {
    const kit = await openKit(
      says(
        { type: "text", text: "hi" },
        { type: "finish", finish: "stop", usage: { inputTokens: Number.NaN, outputTokens: undefined } },
      ),
    );
    const run = kit.session.run("go");
    const heard = listen(run);
    expect((await run.result).usage).toEqual({ inputTokens: 0, outputTokens: 0 });
    const live = await heard.all;
    const again = listen(run);
    expect(said(await again.all)).toEqual(said(live.filter((event) => !/^(turn|text)/.test(event.type))));
    expect(await again.all).toEqual(live.filter((event) => !/^(turn|text)/.test(event.type)));
  });

  it("a call without an id, a tool name that is no text: the model reads it, in a prompt valid for every provider", async () => {
    const kit = await openKit(
      says({ type: "call", tool: "x", args: "{}" }, { type: "call", id: 7, tool: undefined, args: {} }),
    );
    expect((await kit.session.run("go").result).status).toBe("completed");
    expect(kit.problems()).toEqual([]);
  });
});
