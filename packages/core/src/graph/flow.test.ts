import { describe, expect, test } from "vitest";
import type { Json } from "../index.ts";
import { Flow, type Trigger } from "./flow.ts";
import { type Branch, END, START, shapeWith } from "./shape.ts";

/** Ways as `from>to`; the branches besides. */
function flowOf(ways: string, branches: Record<string, Branch> = {}, trigger?: Trigger): Flow {
  const edges = new Map<string, string[]>();
  const nodes = new Map<string, never>();
  for (const way of ways.split(" ")) {
    const [from = "", to = ""] = way.split(">").map((key) => (key === "S" ? START : key === "E" ? END : key));
    edges.set(from, [...(edges.get(from) ?? []), to]);
    for (const key of [from, to]) if (key !== START && key !== END) nodes.set(key, undefined as never);
  }
  const choices = new Map(Object.entries(branches).map(([key, branch]) => [key, [branch]]));
  return new Flow(shapeWith("g", nodes, edges, choices, new Map()), trigger, 100, {});
}

const ids = (flow: Flow) => flow.open.map(({ id }) => id);
const give = (flow: Flow, id: string, output: Json = id) =>
  flow.gave(flow.open.find((visit) => visit.id === id)!, output);

describe("the next visits of a graph", () => {
  test("a join waits for a long way and a short one, whichever ends first", () => {
    for (const order of [
      ["a#0", "b#0", "c#0"],
      ["b#0", "c#0", "a#0"],
    ]) {
      const flow = flowOf("S>a S>b b>c a>j c>j j>E");
      flow.begin("hi");
      for (const id of order) give(flow, id);
      expect(flow.open).toMatchObject([{ id: "j#0", input: { a: "a#0", c: "c#0" } }]);
      give(flow, "j#0", "end");
      expect(flow.open).toEqual([]);
      expect(flow.output).toBe("end");
    }
  });

  test("a join, and the end, get the values in the order in which the graph names its nodes, not in the order of arrival", () => {
    for (const order of [
      ["a#0", "b#0"],
      ["b#0", "a#0"],
    ]) {
      const flow = flowOf("S>a S>b a>j b>j a>E b>E j>E");
      flow.begin("hi");
      for (const id of order) give(flow, id);
      expect(JSON.stringify(flow.open[0]!.input)).toBe('{"a":"a#0","b":"b#0"}');
      give(flow, "j#0");
      expect(JSON.stringify(flow.output)).toBe('{"a":"a#0","b":"b#0","j":"j#0"}');
    }
  });

  test("a fork and a join inside a cycle: each round has its own", () => {
    const rounds: Branch = { choose: (output: string) => (output === "more" ? "head" : END), to: ["head", END] };
    const flow = flowOf("S>head head>a head>b a>j b>j", { j: rounds });
    flow.begin("hi");
    for (const round of [0, 1]) {
      expect(ids(flow)).toEqual([`head#${round}`]);
      give(flow, `head#${round}`);
      give(flow, `b#${round}`);
      expect(ids(flow)).toEqual([`a#${round}`]);
      give(flow, `a#${round}`);
      give(flow, `j#${round}`, round === 0 ? "more" : "done");
    }
    expect(flow.output).toBe("done");
  });

  test("joins that could wait for one another begin with the first", () => {
    const flow = flowOf("S>x S>y x>p y>q p>q q>p p>E q>E");
    flow.begin("hi");
    give(flow, "x#0");
    give(flow, "y#0");
    expect(ids(flow)).toEqual(["p#0"]);
    expect(flow.waiting).toEqual({ q: { y: "y#0" } });
  });

  test("with trigger any nothing waits", () => {
    const flow = flowOf("S>a S>b a>j b>j j>E", {}, "any");
    flow.begin("hi");
    give(flow, "a#0");
    expect(ids(flow)).toEqual(["b#0", "j#0"]);
    give(flow, "b#0");
    expect(ids(flow)).toEqual(["j#0", "j#1"]);
  });
});
