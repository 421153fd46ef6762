import { openKit } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../index.ts";

describe("input", () => {
  it("INPUT_EMPTY, INPUT_INVALID: refused at once, nothing is made", async () => {
    const store = memoryStore();
    const kit = await openKit([], { store });
    for (const input of ["", "  ", [], ["", "\n"], [{ parts: [] }]]) {
      expect(() => kit.session.run(input)).toThrow(expect.objectContaining({ code: "INPUT_EMPTY" }));
    }
    for (const input of [
      7,
      {},
      [7],
      [null],
      [{ parts: "text" }],
      [{ role: "assistant", parts: [{ type: "text", text: "x" }] }],
      [{ parts: [{ type: "text" }] }],
      [{ parts: [{ type: "call", id: "x", tool: "y", args: {} }] }],
      [{ parts: [{ type: "file", mediaType: "image/png" }] }],
      [{ parts: [{ type: "file", data: { url: "https://x.test/a" } }] }],
      ...[
        { mediaType: "image/png", data: { url: "x" } },
        { mediaType: "png", data: { base64: "AAAA" } },
        { mediaType: "", data: { base64: "AAAA" } },
        { mediaType: "image/png", data: { base64: "no base64!" } },
        { mediaType: "image/png", data: { base64: "" } },
        // No store keeps blobs: with one in its history every later run of the thread would fail.
        { mediaType: "image/png", data: { blob: "b1" } },
      ].map((file) => [{ parts: [{ type: "file", ...file }] }]),
    ]) {
      expect(() => kit.session.run(input as never)).toThrow(expect.objectContaining({ code: "INPUT_INVALID" }));
    }
    expect(() => kit.session.run([{ parts: [{ type: "text", text: "x", provider: new Date() as never }] }])).toThrow(
      expect.objectContaining({ code: "NOT_SERIALIZABLE" }),
    );
    expect(kit.session.state).toBe("created");
    expect(await store.threads("default")).toEqual([]);
  });

  it("H1: half a character in the input is kept as it came, and sent as something a provider takes", async () => {
    const kit = await openKit(["ok"]);
    const parts = (half: string) =>
      [
        { type: "text", text: `a${half}b` },
        { type: "file", mediaType: "image/*; q=1", data: { url: "data:,x" }, name: `n${half}` },
      ] as const;
    await kit.session.run([{ parts: parts("\ud800") }]).result;
    expect(kit.session.messages[0]!.parts).toEqual(parts("\ud800"));
    expect(kit.requests[0]!.messages[0]!.parts).toEqual(parts("\ufffd"));
  });

  it("SESSION_CLOSED, RUNNER_CLOSED: verbs of a closed one", async () => {
    const kit = await openKit(["ok"]);
    await kit.session.run("a").result;
    await kit.session.close();
    await kit.session.close();
    const closed = expect.objectContaining({ code: "SESSION_CLOSED" });
    expect(() => kit.session.run("b")).toThrow(closed);
    expect(() => kit.session.resume()).toThrow(closed);
    expect(() => kit.session.resumeWithInput("b")).toThrow(closed);
    await expect(kit.session.terminate()).rejects.toEqual(closed);
    expect(await kit.runner.open("thread")).not.toBe(kit.session);
    await kit.runner.close();
    const over = expect.objectContaining({ code: "RUNNER_CLOSED" });
    await expect(kit.runner.open("thread")).rejects.toEqual(over);
    await expect(kit.runner.run("x")).rejects.toEqual(over);
    expect(() => kit.runner.events("thread")).toThrow(over);
  });
});
