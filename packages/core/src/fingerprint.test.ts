import { describe, expect, test } from "vitest";
import {
  driftReport,
  driftWords,
  type FingerprintParts,
  fingerprintOf,
  sameFingerprint,
  shapeOf,
} from "./fingerprint.ts";

const refund = {
  name: "refund",
  version: "1",
  description: "Pays an order back.",
  inputSchema: { type: "object", properties: { order: { type: "string" } } },
};
const parts: FingerprintParts = { model: "scripted", instructions: "Be kind.", tools: [refund] };
const made = (name: string) => ({ name, fingerprint: () => fingerprintOf(parts) });
const drift = (is: Partial<FingerprintParts>) => driftReport(fingerprintOf(parts), fingerprintOf({ ...parts, ...is }));

describe("an agent's fingerprint", () => {
  test("has the model in clear and short digests of the rest, the same in every process (R7)", () => {
    expect(fingerprintOf(parts)).toEqual({
      model: "scripted",
      instructions: "8c294dd9b20a",
      tools: { refund: "2170a257ff14" },
    });
    expect(shapeOf("sequential", "desk", null, [made("support")])).toEqual({ shape: "aed90754242b" });
  });

  test("has no entry for a part that the agent does not have (R7)", () => {
    expect(fingerprintOf({})).toEqual({});
    expect(fingerprintOf({ model: "scripted", instructions: " \n", tools: [] })).toEqual({
      model: "scripted",
    });
  });

  test("does not depend on the order of tools or of a schema's keys (R7)", () => {
    const turned = { ...refund, inputSchema: { properties: { order: { type: "string" } }, type: "object" } };
    const other = { ...refund, name: "other" };
    const a = fingerprintOf({ ...parts, tools: [refund, other] });
    const b = fingerprintOf({ ...parts, tools: [other, turned] });
    expect(sameFingerprint(a, b)).toBe(true);
    expect(sameFingerprint(a, JSON.parse(JSON.stringify(b)))).toBe(true);
  });
});

describe("the drift between two", () => {
  test("is undefined if nothing changed (R7)", () => {
    expect(drift({})).toBeUndefined();
  });

  test("names the model as it was and as it is (R7)", () => {
    expect(drift({ model: "other" })).toEqual({ model: { was: "scripted", is: "other" } });
    expect(drift({ model: undefined })).toEqual({ model: { was: "scripted" } });
  });

  test("reports changed instructions and a changed shape (R7)", () => {
    expect(drift({ instructions: "Be brief." })).toEqual({ instructions: true });
    expect(drift({ instructions: undefined })).toEqual({ instructions: true });
    const shape = (...names: string[]) => shapeOf("sequential", "desk", null, names.map(made));
    expect(driftReport(shape("support"), shape("support", "sales"))).toEqual({ shape: true });
    expect(driftReport(shape("support"), shape("support"))).toBeUndefined();
  });

  test.each([
    ["version", { version: "2" }],
    ["description", { description: "Gives the money back." }],
    ["schema", { inputSchema: { type: "object" } }],
  ])("names a tool whose %s changed (R7)", (_, change) => {
    expect(drift({ tools: [{ ...refund, ...change }] })).toEqual({
      tools: { added: [], removed: [], changed: ["refund"] },
    });
  });

  test("names added and removed tools, also tools named like inherited properties of objects (R7)", () => {
    const names = ["toString", "constructor", "a"];
    const tools = names.map((name) => ({ ...refund, name }));
    expect(drift({ tools })).toEqual({
      tools: { added: ["a", "constructor", "toString"], removed: ["refund"], changed: [] },
    });
    expect(drift({ tools: [] })).toEqual({ tools: { added: [], removed: ["refund"], changed: [] } });
  });

  test("fits one line (R7)", () => {
    const { name: _, ...rest } = refund;
    const was = fingerprintOf({ ...parts, tools: [refund, { ...rest, name: "old" }] });
    const is = fingerprintOf({
      model: "other",
      tools: [
        { ...refund, version: "2" },
        { ...rest, name: "b" },
        { ...rest, name: "a" },
      ],
    });
    expect(driftWords(driftReport({ ...was, shape: "a" }, { ...is, shape: "b" })!)).toBe(
      "model scripted is now other; instructions changed; tools a, b added; tool old removed; tool refund changed; shape changed",
    );
    expect(driftWords({ model: { is: "other" } })).toBe("model (none) is now other");
  });
});
