import { describe, expect, it } from "vitest";
import type { Json, Message, Part } from "../index.ts";
import { type CallPart, NAME, type Outcome } from "../message.ts";
import { joined, resultPart, sendable } from "./render.ts";

const signed = { name: "anthropic", data: { signature: "s" } };
const text = (value: string): Part => ({ type: "text", text: value });
const call: CallPart = {
  type: "call",
  id: "c",
  tool: "look",
  args: { a: 1 },
  provider: { name: "google", data: { thoughtSignature: "g" } },
};
const message = (parts: readonly Part[], more: Partial<Message> = {}): Message => ({
  id: "m",
  role: "assistant",
  parts,
  at: 5,
  origin: "model",
  ...more,
});
const cut = { interrupted: { by: "user", at: 1 } };

describe("the prompt of a model", () => {
  it("H1: a message that is fit as it is goes as it is: the very same object", () => {
    for (const parts of [
      [text("hi")],
      [{ type: "reasoning", text: "hm", provider: signed } as const, text("hi"), call],
      [call],
    ]) {
      const whole = message(parts);
      expect(sendable(whole, true)).toBe(whole);
    }
  });

  it("Q4: the model reads a person's change of a call's arguments, and only that", () => {
    const asked: CallPart = { ...call, args: { path: "a", text: "long", force: true } };
    const told = (ranArgs: Json, output: Json = "ran") => resultPart(asked, "ok", output, ranArgs).output;
    expect(told({ path: "b", text: "long" })).toBe(
      '[A person changed the arguments before it ran: path is now "b", force is left out.]\nran',
    );
    expect(told({ force: true, text: "long", path: "a", deep: [1] }, { n: 1 })).toEqual({
      note: "A person changed the arguments before it ran: deep is now [1].",
      output: { n: 1 },
    });
    expect(told({ force: true, text: "long", path: "a" })).toBe("ran");
  });

  it("H1: provider data goes back verbatim", () => {
    const parts: Part[] = [
      { type: "reasoning", text: "hm", provider: signed },
      { ...text("hi"), provider: { name: "openai", data: { itemId: "i" } } } as Part,
      text(" "),
      call,
    ];
    expect(sendable(message(parts), false)!.parts).toEqual([parts[0], parts[1], call]);
    expect(sendable(message(parts), false)!.parts[0]).toBe(parts[0]);
  });

  it("H1: unsigned reasoning, blank texts and answers of nothing else are not sent", () => {
    const unsigned: Part = { type: "reasoning", text: "hm" };
    expect(sendable(message([unsigned, text("hi"), text(""), text(" \n")]), false)!.parts).toEqual([text("hi")]);
    for (const parts of [
      [],
      [unsigned],
      [text(" ")],
      [{ type: "reasoning", text: "hm", provider: signed } as const],
      [unsigned, text("\t")],
    ]) {
      expect(sendable(message(parts), false)).toBeUndefined();
      expect(sendable(message(parts, cut), true)).toBeUndefined();
    }
  });

  it("H1: an answer of files, or of parts only its provider reads, has a text for providers without a place for it", () => {
    const file: Part = { type: "file", mediaType: "image/png", data: { base64: "aGk=" } };
    const opaque: Part = { type: "opaque", provider: signed };
    for (const only of [file, opaque]) {
      expect(sendable(message([only]), true)!.parts).toEqual([only, text("[An answer without words.]")]);
      const worded = message([only, text("hi")]);
      expect(sendable(worded, true)).toBe(worded);
      const called = message([only, call]);
      expect(sendable(called, true)).toBe(called);
    }
    const given = message([file], { role: "user" });
    expect(sendable(given, false)).toBe(given);
  });

  it("H1: words after a call stand before it, in their order; calls keep theirs", () => {
    const other: Part = { ...call, id: "d" };
    expect(sendable(message([text("a"), call, text("b"), other, text("c")]), false)!.parts).toEqual([
      text("a"),
      text("b"),
      text("c"),
      call,
      other,
    ]);
  });

  it("H1: half a character and arguments that are not an object become valid for every provider", () => {
    expect(sendable(message([text("a\ud83d")]), false)!.parts).toEqual([text("a\ufffd")]);
    for (const args of ["{bad", null, 7, [1]]) {
      expect(sendable(message([{ ...call, args }]), false)!.parts).toEqual([
        { ...call, args: { invalid_arguments: args } },
      ]);
    }
    const result = { ...resultPart(call, "ok", "b\udc00") };
    expect(sendable(message([result], { role: "tool" }), false)!.parts).toMatchObject([{ output: "b\ufffd" }]);
  });

  it("H1: a name that no tool can have goes as one that a provider takes, alike in call and result", () => {
    const names = ["functions.add", "", "7 zip", "ünï", "x".repeat(100), "\ud83d"];
    const sent = names.map((tool) => {
      const asked = { ...call, tool };
      const parts = [sendable(message([asked]), true)!, sendable(message([resultPart(asked, "error", "no")]), false)!];
      return parts.map(({ parts: [part] }) => (part as CallPart).tool);
    });
    const fit = ["functions_add", "_", "_7_zip", "_n_", "x".repeat(63), "_"];
    expect(sent).toEqual(fit.map((name) => [name, name]));
    expect(fit.filter((name) => !NAME.test(name))).toEqual([]);
  });

  it("H1: half a character deep inside arguments or a result becomes valid, too", () => {
    const args = { list: [{ "k\ud800": "v\ud800" }] };
    const fit = { list: [{ "k\ufffd": "v\ufffd" }] };
    expect(sendable(message([{ ...call, args }]), false)!.parts).toMatchObject([{ args: fit }]);
    const result = resultPart(call, "ok", args);
    expect(sendable(message([result], { role: "tool" }), false)!.parts).toMatchObject([{ output: fit }]);
  });

  it("H2: a cut answer carries its mark as a text of its own, before its calls, and only in the prompt", () => {
    const whole = message([text("Hel"), call], cut);
    expect(sendable(whole, true)!.parts).toEqual([text("Hel"), text("\n[interrupted by the user]"), call]);
    expect(sendable(message([text("Hel")], { interrupted: { by: "error", at: 1 } }), true)!.parts[1]).toEqual(
      text("\n[cut off by an error]"),
    );
    expect(sendable(whole, false)).toBe(whole);
    expect(whole.parts).toHaveLength(2);
  });

  it.each<[Outcome, unknown, RegExp]>([
    ["not-executed", null, /^Not executed/],
    ["unknown", null, /^Outcome unknown.*may have taken effect/],
    ["interrupted", null, /^Interrupted.*may have taken effect\.$/],
    ["interrupted", [], /may have taken effect\.$/],
    ["interrupted", ["50 %", { done: 1 }], /Its output so far:\n50 %\n\{"done":1\}$/],
    ["error", "", /^Failed, without saying why/],
    ["error", "no disk", /^no disk$/],
  ])("H2: a call that is %s (%j) says so", (outcome, output, words) => {
    expect(resultPart(call, outcome, output as never)).toEqual({
      type: "result",
      id: "c",
      tool: "look",
      outcome,
      output: expect.stringMatching(words),
    });
  });

  it("a result that is fine is left alone", () => {
    const output = { rows: [1, 2] };
    expect(resultPart(call, "ok", output).output).toBe(output);
  });
});

describe("an answer that continued", () => {
  it("R2: is one message with the first id and place, the last end, and the usage of both", () => {
    const first = message([text("Hel")], {
      ...cut,
      id: "a",
      at: 1,
      model: "m1",
      usage: { inputTokens: 5, outputTokens: 1 },
    });
    const rest = message([text("lo")], {
      id: "b",
      at: 9,
      continues: "a",
      model: "m2",
      finish: "stop",
      usage: { inputTokens: 7, outputTokens: 2 },
    });
    expect(joined(first, rest)).toEqual({
      id: "a",
      role: "assistant",
      origin: "model",
      at: 1,
      parts: [text("Hello")],
      continues: "a",
      model: "m2",
      finish: "stop",
      usage: { inputTokens: 12, outputTokens: 3 },
    });
  });

  it("R2: cut again, it carries the new tag", () => {
    const rest = message([text("l")], { continues: "m", interrupted: { by: "me", at: 7 } });
    expect(joined(message([text("He")], cut), rest)).toMatchObject({
      parts: [text("Hel")],
      interrupted: { by: "me", at: 7 },
    });
  });

  it("H1: reasoning signed for the first piece is not sent again; that of the second is, in front", () => {
    const old: Part = { type: "reasoning", text: "old", provider: signed };
    const fresh: Part = { type: "reasoning", text: "new", provider: signed };
    const whole = joined(message([old, text("a")], cut), message([fresh, text("b"), call], { continues: "m" }));
    expect(whole.parts).toEqual([fresh, { type: "reasoning", text: "old" }, text("ab"), call]);
    expect(sendable(whole, true)!.parts).toEqual([fresh, text("ab"), call]);
  });

  it("R2: a continuation of nothing only takes the tag away", () => {
    expect(joined(message([text("He")], cut), message([], { continues: "m", finish: "stop" }))).toMatchObject({
      parts: [text("He")],
      finish: "stop",
    });
    expect(joined(message([text("He")], cut), message([], { continues: "m" }))).not.toHaveProperty("interrupted");
  });
});
