import { history, type Kit, type KitOptions, listen, openKit, said, unpaired } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { type Message, messageText, type Part } from "../../index.ts";
import { CONTINUE_NOTE } from "../../journal/render.ts";
import { scriptedModel } from "../../testing/index.ts";

const cut = [{ text: ["Hel", "lo wo"] }, { stall: true }] as const;

/** Runs "hello" (or resumes) and stops once the model has streamed `words`. */
async function stopAfter(kit: Kit, words: string, go = () => kit.session.run("hello")) {
  const run = go();
  let text = "";
  for await (const event of run) {
    if (event.type === "text-delta") text += event.text;
    if (text.endsWith(words)) break;
  }
  await kit.session.interrupt();
  return run.result;
}

/** The request as roles and texts. */
function sent(kit: Kit, index: number): string[] {
  return kit.requests[index]!.messages.map((message) => `${message.role}: ${texts(message)}`);
}

function texts(message: Message): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : part.type)).join("|");
}

const note = `user: ${CONTINUE_NOTE}`;

describe("with input: rethink", () => {
  it("R1, D22, D23: the model gets the old history, the partial with its mark, then the new message", async () => {
    const kit = await openKit([cut, "ok"]);
    await stopAfter(kit, "wo");
    const result = await kit.session.resume({ input: "shorter" }).result;
    expect(result).toMatchObject({ status: "completed", text: "ok", output: "ok", segment: 2 });
    expect(sent(kit, 1)).toEqual(["user: hello", "assistant: Hello wo|\n[interrupted by the user]", "user: shorter"]);
    expect(history(kit.session.messages)).toEqual([
      "user: hello",
      "assistant~user: Hello wo",
      "user: shorter",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("D47: several inputs are several messages, verbatim and in order; blank ones are none", async () => {
    const kit = await openKit([cut, "ok"]);
    await stopAfter(kit, "wo");
    await kit.session.resume({ input: [" one ", "", "  \n", "two\n", "one"] }).result;
    expect(sent(kit, 1).slice(2)).toEqual(["user:  one ", "user: two\n", "user: one"]);
    expect(kit.problems()).toEqual([]);
  });

  it("R1: messages with files go in as they are", async () => {
    const kit = await openKit([cut, "ok"]);
    await stopAfter(kit, "wo");
    const file = { type: "file", mediaType: "image/png", data: { base64: "aGk=" }, name: "a.png" } as const;
    const input = [
      { id: "mine", parts: [{ type: "text", text: "look" }, file] },
      { role: "user", parts: [file] },
    ] as const;
    await kit.session.resume({ input }).result;
    const given = kit.session.messages.slice(2, 4);
    expect(given[0]).toMatchObject({ id: "mine", role: "user", origin: "person", parts: input[0].parts });
    expect(given[1]).toMatchObject({ role: "user", origin: "person", parts: [file] });
    expect(kit.requests[1]!.messages.slice(2)).toEqual(given);
    expect(kit.problems()).toEqual([]);
  });

  it("R3: run(input) while paused by a person is resume with that input: the same run, the next segment", async () => {
    const kit = await openKit([cut, "ok"]);
    const { runId } = await stopAfter(kit, "wo");
    const run = kit.session.run("shorter");
    expect(run).toMatchObject({ runId, segment: 2 });
    await run.result;
    expect(kit.session.messages.at(-1)).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "ok" }] });
    expect(sent(kit, 1).at(-1)).toBe("user: shorter");
  });

  it("D25: an input is consumed once", async () => {
    const kit = await openKit([cut, [{ text: "ok" }, { stall: true }], "done"]);
    await stopAfter(kit, "wo");
    await stopAfter(kit, "ok", () => kit.session.resume({ input: "shorter" }));
    await kit.session.resume().result;
    expect(kit.session.messages.filter((message) => messageText(message) === "shorter")).toHaveLength(1);
  });
});

describe("without input: continue", () => {
  it("R2: an empty rest belongs to one answer: a reader's change of it is in no other one", async () => {
    const answers: string[] = [];
    for (const reader of ["first", "second"]) {
      const kit = await openKit([cut, []]);
      await stopAfter(kit, "wo");
      const run = kit.session.resume();
      for await (const event of run) {
        if (event.type !== "message") continue;
        const write = () => (event.message.parts as Part[]).push({ type: "text", text: reader });
        expect(write).toThrow(TypeError);
      }
      const result = await run.result;
      answers.push(result.status === "completed" ? result.text : result.status);
    }
    expect(answers).toEqual(["Hello wo", "Hello wo"]);
  });

  for (const input of [
    undefined,
    "",
    "   ",
    "\n\t",
    [],
    ["", " "],
    [{ parts: [{ type: "text", text: " " }] }],
  ] as const) {
    it(`R2, D24: ${JSON.stringify(input) ?? "no input"} adds nothing to the history and continues at the cut`, async () => {
      const kit = await openKit([cut, "rld"]);
      await stopAfter(kit, "wo");
      const { length } = kit.session.messages;
      const result = await kit.session.resume(input === undefined ? {} : { input }).result;
      expect(result).toMatchObject({ status: "completed", text: "Hello world" });
      expect(sent(kit, 1)).toEqual(["user: hello", "assistant: Hello wo", note]);
      expect(kit.session.messages).toHaveLength(length);
      expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: Hello world"]);
      expect(kit.problems()).toEqual([]);
    });
  }

  it("R2: the new text is a message of its own that says which one it continues", async () => {
    const kit = await openKit([cut, "rld", "next"]);
    await stopAfter(kit, "wo");
    const [, partial] = kit.session.messages;
    const heard = listen(kit.session.resume());
    const facts = (await heard.all).filter((event) => event.type === "message");
    expect(facts.map((fact) => fact.message)).toMatchObject([
      { continues: partial!.id, parts: [{ type: "text", text: "rld" }] },
    ]);
    expect(facts[0]!.message.id).not.toBe(partial!.id);
    expect(kit.session.messages[1]).toMatchObject({ id: partial!.id, parts: [{ type: "text", text: "Hello world" }] });
    await kit.session.run("more").result;
    expect(sent(kit, 2)).toEqual(["user: hello", "assistant: Hello world", "user: more"]);
  });

  it("R2: a model that takes a prefix gets the partial as the last message, without a note", async () => {
    const kit = await openKit([cut, "rld"], { script: { prefill: true } });
    await stopAfter(kit, "wo");
    await kit.session.resume().result;
    expect(sent(kit, 1)).toEqual(["user: hello", "assistant: Hello wo"]);
    expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: Hello world"]);
  });

  it("R2: a partial that ends in blanks gets the note also there, and keeps its blanks", async () => {
    const blanks = [{ text: ["Hello", " "] }, { stall: true }] as const;
    const kit = await openKit([blanks, "world"], { script: { prefill: true } });
    await stopAfter(kit, " ");
    const result = await kit.session.resume().result;
    expect(sent(kit, 1)).toEqual(["user: hello", "assistant: Hello ", note]);
    expect(result).toMatchObject({ text: "Hello world" });
    expect(kit.problems()).toEqual([]);
  });

  it("R2: cut twice in a row is still one message, and every request shows all of it", async () => {
    const kit = await openKit([[{ text: "a" }, { stall: true }], [{ text: "b" }, { stall: true }], [{ text: "c" }]]);
    await stopAfter(kit, "a");
    await stopAfter(kit, "b", () => kit.session.resume());
    expect(history(kit.session.messages)).toEqual(["user: hello", "assistant~user: ab"]);
    const result = await kit.session.resume().result;
    expect(sent(kit, 2)).toEqual(["user: hello", "assistant: ab", note]);
    expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: abc"]);
    expect(result).toMatchObject({ text: "abc", segment: 3 });
  });

  it("R2: cut twice, the second time before a word, continues from the first cut", async () => {
    const kit = await openKit([[{ text: "a" }, { stall: true }], [{ stall: true }], "c"]);
    await stopAfter(kit, "a");
    await stopBefore(kit, () => kit.session.resume());
    await kit.session.resume().result;
    expect(sent(kit, 2)).toEqual(["user: hello", "assistant: a", note]);
    expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: ac"]);
  });

  it("R2: a continuation of nothing completes the answer: the mark is gone, also for the model", async () => {
    const kit = await openKit([cut, "", "next"]);
    await stopAfter(kit, "wo");
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "Hello wo" });
    expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: Hello wo"]);
    await kit.session.run("more").result;
    expect(sent(kit, 2)).toEqual(["user: hello", "assistant: Hello wo", "user: more"]);
    expect(kit.problems()).toEqual([]);
  });

  for (const [what, parts] of [
    ["before anything", [{ stall: true }]],
    ["in blanks", [{ text: " \n" }, { stall: true }]],
    ["in reasoning", [{ reasoning: "hm" }, { stall: true }]],
    ["in signed reasoning", [{ reasoning: "hm", signature: "s" }, { stall: true }]],
  ] as const) {
    it(`R2, D20: cut ${what}, the model is called again with the same request, as another try`, async () => {
      const kit = await openKit([parts, "ok"]);
      await stopBefore(kit);
      expect(history(kit.session.messages)).toEqual(["user: hello"]);
      const heard = listen(kit.session.resume());
      const events = await heard.all;
      expect(kit.requests[1]).toEqual(kit.requests[0]);
      expect(history(kit.session.messages)).toEqual(["user: hello", "assistant: ok"]);
      expect(said(events)).toContain("superseded, attempt 2");
      expect(unpaired(events)).toEqual([]);
    });
  }

  it("D45: a partial that was rolled back is not continued, and its draft is void for readers", async () => {
    const kit = await openKit([cut, "Bye"]);
    const all = listen(kit.session.events());
    kit.session.run("hello");
    await all.until((event) => event.type === "text-delta");
    await kit.session.interrupt({ rollbackPartial: true });
    await kit.session.resume({ input: "again" }).result;
    expect(sent(kit, 1)).toEqual(["user: hello", "user: again"]);
    expect(history(kit.session.messages)).toEqual(["user: hello", "user: again", "assistant: Bye"]);
    const ids = all.events.flatMap((event) => (event.type === "superseded" ? [event.messageId] : []));
    expect(ids).toEqual([kit.session.messages.at(-1)!.id]);
  });
});

it("R3: mode continue with input continues and steers: nothing is closed, the input comes after the partial", async () => {
  const kit = await openKit([cut, "ok"]);
  await stopAfter(kit, "wo");
  await kit.session.resume({ mode: "continue", input: "in French" }).result;
  expect(sent(kit, 1)).toEqual(["user: hello", "assistant: Hello wo|\n[interrupted by the user]", "user: in French"]);
});

it("R2: the note and the mark are in requests only, never in the history or the journal", async () => {
  const kit = await openKit([cut, [{ text: "rl" }, { stall: true }], "d"]);
  await stopAfter(kit, "wo");
  await stopAfter(kit, "rl", () => kit.session.resume());
  await kit.session.resume({ input: "x" }).result;
  const journal = JSON.stringify(await kit.store.load({ tenant: "default", threadId: "thread" }));
  expect(journal).not.toContain("cut off");
  expect(journal).not.toContain("[interrupted");
  expect(JSON.stringify(kit.session.messages)).not.toContain("[interrupted");
});

it("R2: the model of another process continues with the cut text just the same", async () => {
  const first = await openKit([cut]);
  await stopAfter(first, "wo");
  const second = await openKit(scriptedModel(["rld"]), { store: first.store } satisfies KitOptions);
  expect(history(second.session.messages)).toEqual(["user: hello", "assistant~user: Hello wo"]);
  await second.session.resume().result;
  expect(sent(second, 0)).toEqual(["user: hello", "assistant: Hello wo", note]);
  expect(history(second.session.messages)).toEqual(["user: hello", "assistant: Hello world"]);
});

/** Stops in the first model call of `go`, when it has said all it will but nothing that counts. */
async function stopBefore(kit: Kit, go = () => kit.session.run("hello")) {
  const { length } = kit.requests;
  const run = go();
  listen(run);
  while (kit.requests.length === length) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  await kit.session.interrupt();
  return run.result;
}
