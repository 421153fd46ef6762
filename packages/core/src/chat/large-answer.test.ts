import { history, listen, openKit, shown } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { jsonSchema, type Model, type ModelEvent, messageText, type Part, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

const most = 1000;
const limited = { runner: { maxBytes: most } };
const bytesOf = (parts: readonly Part[]) => Buffer.byteLength(JSON.stringify(parts));
/** The bytes of a part of text beside its text. */
const around = bytesOf([{ type: "text", text: "" }]);
const tooLarge = { status: "failed", error: { code: "TOO_LARGE" } };

/** A model that sends the events of the generator, and counts them. */
function saying(make: () => Iterable<ModelEvent>) {
  const told = { events: 0, requests: 0, aborted: false };
  const model: Model = {
    id: "talker",
    async *stream(_request, { signal }) {
      told.requests += 1;
      signal.addEventListener("abort", () => (told.aborted = true));
      for (const event of make()) {
        told.events += 1;
        yield event;
      }
    },
  };
  return { model, told };
}

/** Far more than any reader takes. */
function* forEver(...events: ModelEvent[]): Generator<ModelEvent> {
  for (let n = 0; n < 10_000; n++) yield* events;
}

const text = (words: string, block?: string): ModelEvent => ({ type: "text", text: words, ...(block && { block }) });

describe("an answer that is larger than a record may be", () => {
  test("P12, S7: an endless answer is cut while it streams: its request is aborted, and the shown text is kept, tagged, for a resume", async () => {
    const { model, told } = saying(() => forEver(text("12345678")));
    const kit = await openKit(model, limited);
    const run = kit.session.run("go");
    const heard = listen(run);
    const message = "What talker has answered so far takes 1003 bytes; at most 1000 are taken.";
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "TOO_LARGE", message } });
    expect([told.aborted, told.requests, told.events]).toEqual([true, 1, Math.floor((most - around) / 8) + 1]);
    const [, answer] = kit.session.messages;
    expect(answer).toMatchObject({ interrupted: { by: "error", reason: "TOO_LARGE" } });
    expect(messageText(answer!)).toBe(shown(await heard.all));
    expect([kit.session.state, bytesOf(answer!.parts)]).toEqual(["error", most - 5]);
    const other = await openKit(["and so on"], { store: kit.store, ...limited });
    expect(await other.session.resume().result).toMatchObject({ status: "completed" });
    expect(lastOf(other.session.messages)).toBe(`${messageText(answer!)}and so on`);
    expect([...kit.problems(), ...other.problems()]).toEqual([]);
  });

  test("P12: one that fills a record to its last byte is whole; with one more it is none", async () => {
    const pieces = (length: number) => [{ text: Array.from({ length }, () => "x") }];
    const kit = await openKit([pieces(most - around), pieces(most - around + 1)], limited);
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect(bytesOf(kit.session.messages[1]!.parts)).toBe(most);
    expect(await kit.session.run("more").result).toMatchObject(tooLarge);
    expect(bytesOf(kit.session.messages[3]!.parts)).toBe(most);
  });

  test.each<[string, ModelEvent[]]>([
    ["letters of two bytes", [text("éé")]],
    ["escaped characters", [text('\n"\u0001')]],
    ["halves of a character in two pieces", [text("a\ud83d"), text("\ude00b")]],
    ["reasoning beside text", [{ type: "reasoning", text: "because" }, text("so")]],
    ["parts without number", [text("a", "1"), text("b", "2")]],
    ["signatures", [text("s"), { type: "text-end", provider: { signature: "0".repeat(50) } }]],
    ["opaque data", [text("o"), { type: "opaque", provider: { data: "0".repeat(50) } }]],
    ["files", [text("f"), { type: "file", mediaType: "image/png", data: { base64: "AAAA".repeat(10) } }]],
  ])("P12, S3: made of %s, the kept answer is the shown answer, and fits", async (_, events) => {
    const { model, told } = saying(() => forEver(...events));
    const kit = await openKit(model, limited);
    const run = kit.session.run("go");
    const heard = listen(run);
    expect(await run.result).toMatchObject(tooLarge);
    expect(told.aborted).toBe(true);
    const [, answer] = kit.session.messages;
    expect(messageText(answer!)).toBe(shown(await heard.all));
    expect(bytesOf(answer!.parts)).toBeLessThanOrEqual(most);
    expect(bytesOf(answer!.parts)).toBeGreaterThan(most / 2);
  });

  test("P12: arguments that are too large end the run before any call of the turn starts; the words before them are kept", async () => {
    const ran: unknown[] = [];
    const give = tool({
      name: "give",
      description: "",
      input: jsonSchema({ type: "object" }),
      execute: (args) => void ran.push(args),
    });
    const calls = [
      { call: "give", id: "small" },
      { call: "give", args: { q: "x".repeat(most) } },
    ];
    const kit = await openKit([[{ text: "I look." }, ...calls], "done"], { ...limited, tools: [give] });
    expect(await kit.session.run("go").result).toMatchObject(tooLarge);
    expect([ran, history(kit.session.messages)]).toEqual([[], ["user: go", "assistant~error: I look."]]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "I look.done" });
    expect(kit.problems()).toEqual([]);
  });

  test("P12: arguments without end are cut while they stream, also of nothing but blanks; those of one call after the other are not added up", async () => {
    const args = (length: number): ModelEvent => ({ type: "args", text: " ".repeat(length) });
    const { model, told } = saying(() => forEver(text("I look. ", "a"), args(100)));
    const kit = await openKit(model, limited);
    expect(await kit.session.run("go").result).toMatchObject(tooLarge);
    expect([told.aborted, told.events]).toEqual([true, 22]);
    const call: ModelEvent = { type: "call", id: "c", tool: "none", args: "{}" };
    const piecemeal = saying(() => [
      args(900),
      call,
      args(900),
      { ...call, id: "d" },
      { type: "finish", finish: "stop" },
    ]);
    const other = await openKit(piecemeal.model, { ...limited, agent: { maxTurns: 1 } });
    expect(await other.session.run("go").result).toMatchObject({ error: { code: "MAX_TURNS" } });
    expect(history(other.session.messages).slice(0, 2)).toEqual(["user: go", "assistant: call c + call d"]);
  });

  test("P12: one that is too large with its first event is not asked for again, and leaves no message", async () => {
    const kit = await openKit(["x".repeat(most), "short"], limited);
    const run = kit.session.run("go");
    const heard = listen(run);
    expect(await run.result).toMatchObject(tooLarge);
    expect([kit.requests.length, shown(await heard.all), history(kit.session.messages)]).toEqual([1, "", ["user: go"]]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "short" });
  });

  test("P12, H4: a summary that is too large fails the run before its request, and the history is as it was", async () => {
    const small = scriptedModel((_, call) => (call === 0 ? "s".repeat(most) : "in short"), { id: "small" });
    const context = { maxTokens: 300, keepTokens: 100, model: small };
    const long = (words: string) => `${words} ${"x".repeat(500)}`;
    const kit = await openKit([long("a1"), "a2"], { ...limited, agent: { context } as never });
    await kit.session.run(long("q1")).result;
    expect(await kit.session.run(long("q2")).result).toMatchObject(tooLarge);
    expect([kit.requests.length, small.requests.length, kit.session.messages.length]).toEqual([1, 1, 3]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed", text: "a2" });
    expect(kit.problems()).toEqual([]);
  });
});

function lastOf(messages: readonly { readonly parts: readonly Part[] }[]): string {
  return messages
    .at(-1)!
    .parts.map((part) => (part.type === "text" ? part.text : ""))
    .join("");
}
