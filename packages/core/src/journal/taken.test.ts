import { describe, expect, test } from "vitest";
import type { Fact } from "../event.ts";
import { reduce } from "./reduce.ts";
import { newThread } from "./state.ts";

const place = { at: 0, threadId: "thread", runId: "run", segment: 2, attempt: 1, agentName: "a", runPath: "a" };

function takenBy(...facts: readonly object[]) {
  const state = newThread("thread");
  facts.forEach((fact, i) => {
    reduce(state, { ...place, ...fact, seq: i + 1 } as Fact);
  });
  return Object.fromEntries(state.taken ?? []);
}

const refused = { code: "ANSWER_TAKEN", message: "taken" };
const answer = { type: "request-answered", id: "r", by: "ana", answer: { type: "approve" } };

describe("V2: the commands on record", () => {
  test("are the `command` facts of version 3, each with its place and its refusal", () => {
    expect(
      takenBy({ type: "command", key: "run:a", by: "ana" }, { type: "command", key: "x", by: "b", refused }),
    ).toEqual({ "run:a": { seq: 1, runId: "run", segment: 2 }, x: { seq: 2, runId: "run", segment: 2, refused } });
  });

  test("of version 2 are the ids of runs, of stops that were heeded and of stops that came too late", () => {
    const missed = [{ id: "late", runId: "run", segment: 1 }];
    const taken = takenBy({ type: "state", state: "initialized", id: "a", stops: ["s"], missed });
    expect(taken).toEqual({
      "run:a": { seq: 1, runId: "run", segment: 2 },
      "stop:s": { seq: 1, runId: "run", segment: 2 },
      "stop:late": { seq: 1, runId: "run", segment: 1, refused: expect.objectContaining({ code: "STALE" }) },
    });
  });

  test("of version 2 are the keys and ids of answers; a refused one gives way to one that counts", () => {
    const taken = takenBy({ ...answer, key: "answer:r:1", refused }, { ...answer, key: "answer:r:1", ref: "1" });
    expect(taken).toEqual({ "answer:r:1": { seq: 2, runId: "run", segment: 2 } });
  });

  test("are the first ones: the same key again changes nothing", () => {
    const twice = { type: "command", key: "run:a", by: "ana" };
    expect(takenBy(twice, twice)).toEqual({ "run:a": { seq: 1, runId: "run", segment: 2 } });
  });
});
