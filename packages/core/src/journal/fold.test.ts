import { openKit, toolOf } from "@belay/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryStore } from "../index.ts";
import type { ScriptedTurn } from "../testing/index.ts";
import type { Line } from "./codec.ts";
import { fold, foldLine } from "./fold.ts";
import { newThread, type ThreadState } from "./state.ts";

const key = { tenant: "default", threadId: "thread" };

/** The parts of a run: the model's answers, and the acts of people. */
const kinds = {
  plain: ["an answer"],
  odd: ['"quoted", \\"more\\", {"run":"completed"},\n\\'],
  blank: [" "],
  "with a tool": [[{ call: "look" }], "seen"],
  "with an id": ["an answer"],
  "of two inputs": ["an answer"],
  stopped: [[{ text: "half " }, { stall: true }], "and the rest"],
  failed: [[{ text: "half " }, { throw: new Error("no") }], "and the rest"],
  "failed for good": [[{ throw: new Error("no") }]],
  steered: [[{ text: "an answer" }], "another"],
} satisfies Record<string, readonly ScriptedTurn[]>;
type Kind = keyof typeof kinds;

async function linesOf(runs: readonly Kind[]): Promise<readonly Line[]> {
  const store = memoryStore();
  const turns = runs.flatMap((kind): readonly ScriptedTurn[] => kinds[kind]);
  const look = toolOf("look", () => "nothing");
  const { session } = await openKit(turns, { store, tools: [look] });
  for (const [i, kind] of runs.entries()) {
    const asked = kind === "odd" ? `\ud800 "}]} \\"${i}"\\` : `question ${i}`;
    const run = session.run(kind === "of two inputs" ? ["one", "two"] : asked, {
      ...(kind === "with an id" && { id: `run ${i}` }),
    });
    if (kind === "steered") await session.steer("one more thing");
    if (kind === "stopped") {
      for await (const event of run) if (event.type === "text-delta") await session.interrupt();
    }
    await run.result;
    if (kind === "stopped" || kind === "failed") await session.resume().result;
  }
  return store.linesSync!(key);
}

function slowly(lines: readonly Line[]): ThreadState {
  const state = newThread("thread");
  for (const line of lines) foldLine(state, line);
  return state;
}

function folded(...pieces: (readonly Line[])[]): ThreadState {
  const state = newThread("thread");
  for (const lines of pieces) fold(state, lines);
  return state;
}

test("F4: a fold is the same up to any fact, and in any number of pieces", async () => {
  let exchanges = 0;
  const kind = fc.oneof(
    { weight: 3, arbitrary: fc.constant<Kind>("plain") },
    { weight: 2, arbitrary: fc.constant<Kind>("odd") },
    fc.constantFrom(...(Object.keys(kinds) as Kind[])),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(kind, { minLength: 1, maxLength: 9 }), async (runs) => {
      const lines = await linesOf(runs);
      for (let end = 0; end <= lines.length; end++) {
        const all = slowly(lines.slice(0, end));
        expect(folded(lines.slice(0, end))).toEqual(all);
        const cut = Math.floor(end / 2);
        expect(folded(lines.slice(0, cut), lines.slice(cut, end))).toEqual(all);
      }
      exchanges += runs.filter((each, i) => each === "plain" && runs[i + 1] === "plain").length;
    }),
    { numRuns: 60 },
  );
  expect(exchanges).toBeGreaterThan(20);
});

type Body = { e: unknown[]; [key: string]: unknown };

function isEnd(written: unknown): written is { readonly run: string } {
  return typeof written === "object" && written !== null && "run" in written;
}

/** Ways to make another line of it: also lines that no writer makes. */
const edits: readonly ((body: Body, at: number, other: Body) => void)[] = [
  ...["initialized", "start", "running", "completed", "error", "paused", "terminated"].map(
    (word) => (body: Body, at: number) => {
      body.e[at % body.e.length] = word;
    },
  ),
  ...[
    { output: "x" },
    { x: 2 },
    { n: "test", p: "test/0:a" },
    { finish: "length" },
    { interrupted: { by: "user", at: 1 } },
    { continues: "z" },
    { t: 2 },
    { t: undefined },
    { m: [{ type: "call", id: "c", tool: "look", args: {} }] },
    { later: 1 },
    { run: "failed" },
  ].map((more) => (body: Body) => {
    for (const each of body.e) if (typeof each === "object" && each !== null) Object.assign(each, more);
  }),
  ...[{ s: 2 }, { p: "test/0:a" }, { n: "other" }, { v: 99 }].map((more) => (body: Body) => Object.assign(body, more)),
  (body, _, other) => {
    body.r = other.r;
  },
  (body) => {
    body.e = body.e.map((each) => (isEnd(each) ? { ...each, later: 1 } : each));
  },
  (body) => void body.e.pop(),
  (body) => void body.e.push("terminated"),
  (body) => {
    body.e = ["terminated"];
  },
  (body) => {
    body.e = [{ breakpoint: { node: "a", at: "before", stop: true } }];
  },
  (body) => {
    body.e = body.e.map(() => null);
  },
];

function outcome(make: () => ThreadState): unknown {
  try {
    return make();
  } catch (error) {
    const { code, details } = error as { code?: string; details?: { seq?: number } };
    return { code, seq: details?.seq };
  }
}

function counted(lines: readonly Line[]): Line[] {
  let next = 1;
  return lines.map((line) => {
    const seq = next;
    next += line.count;
    return { ...line, seq };
  });
}

test("F4, C4: also lines that no writer makes fold to the state of their facts, or are refused as these are", async () => {
  const lines = await linesOf(["plain", "plain", "odd", "odd", "plain"]);
  const change = fc.record({
    line: fc.nat(lines.length - 1),
    edit: fc.option(fc.constantFrom(...edits)),
    at: fc.nat(4),
    other: fc.nat(lines.length - 1),
    how: fc.constantFrom("in place", "added", "without it", "the other first"),
    counts: fc.boolean(),
  });
  const seen = { whole: 0, refused: 0 };
  const compare = (edited: readonly Line[]) => {
    const expected = outcome(() => slowly(edited));
    expect(outcome(() => folded(edited))).toEqual(expected);
    const refused = "code" in (expected as object);
    if (refused) expect(expected).toEqual({ code: expect.stringMatching(/^JOURNAL_/), seq: expect.any(Number) });
    seen[refused ? "refused" : "whole"] += 1;
  };
  for (const edit of edits) {
    for (const [i, line] of lines.entries()) {
      for (const other of lines.slice(Math.max(0, i - 4), i + 3)) {
        const body = JSON.parse(line.body) as Body;
        edit(body, i, JSON.parse(other.body) as Body);
        const made = { ...line, body: JSON.stringify(body), count: body.e.length };
        const edited = counted(lines.map((each) => (each === line ? made : each)));
        for (const end of [i + 1, i + 2, lines.length]) compare(edited.slice(0, end));
      }
    }
  }
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let edited = [...lines];
      for (const { line, edit, at, other, how, counts } of changes) {
        const [body, another] = [line, other].map((i) => JSON.parse(edited[i % edited.length]!.body) as Body);
        edit?.(body!, at, another!);
        const made = { ...edited[line % edited.length]!, body: JSON.stringify(body), count: body!.e.length };
        edited = edited.flatMap((each, i) => {
          if (i !== line % edited.length) return [each];
          if (how === "the other first") return [edited[other % edited.length]!, made];
          return how === "added" ? [each, made] : how === "in place" ? [made] : [];
        });
        if (counts) edited = counted(edited);
        if (edited.length === 0) return;
      }
      compare(edited);
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(seen.whole, seen.refused)).toBeGreaterThan(200);
});

/** Pieces of lines, and texts that look like one. */
const pieces = [
  ...['"', "\\", "{", "}", "[", "]", ",", ":", " ", "\n", "\0", "},{", "\\u0022", "null,", "1e999"],
  ...[
    '"t":0,',
    '"t":1,',
    ',"usage":[1,2]',
    '"model":"z",',
    ',"at":5',
    '"x":2,',
    '"__proto__":1,',
    ',"finish":"length"',
  ],
  ...['"m":"z",', '{"m":"a"},', '"running",', '"s":1,', '"v":2,', '"e":['],
];

test("F4, C4: nor does it take a line for one that looks alike, with any text at any place", async () => {
  const lines = await linesOf(["plain", "odd", "plain", "plain", "plain"]);
  const same = (edited: readonly Line[]) =>
    expect(outcome(() => folded(edited))).toEqual(outcome(() => slowly(edited)));
  for (const [piece, other] of [
    ['"t":1', '"t":0'],
    [/,"usage":\[[^\]]*\]/, ""],
    [/("model":[^,]*),("usage":\[[^\]]*\])/, '$2,"model":["x"]'],
    [/("usage":)/, '"finish":"length",$1'],
  ] as const) {
    for (const [i] of lines.entries()) {
      const edit = (line: Line) => ({ ...line, body: line.body.replace(piece, other) });
      same(lines.map((line, at) => (at === i ? edit(line) : line)));
      same(lines.map((line, at) => (at <= i ? edit(line) : line)));
    }
  }
  const change = fc.record({
    line: fc.nat(lines.length - 1),
    at: fc.nat(300),
    without: fc.constantFrom(0, 0, 1, 2, 5, 9, 14),
    piece: fc.oneof(fc.constantFrom("", ...pieces), fc.string({ maxLength: 2 })),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
      const edited = [...lines];
      for (const { line, at, without, piece } of changes) {
        const { body } = edited[line]!;
        const from = at % (body.length + 1);
        edited[line] = { ...edited[line]!, body: body.slice(0, from) + piece + body.slice(from + without) };
      }
      same(edited);
    }),
    { numRuns: 3_000 },
  );
});

test("C4: a line that is damaged, or of a newer version, is named, wherever it stands among others", async () => {
  const lines = await linesOf(["plain", "plain", "plain", "plain"]);
  const bad = [
    ["not JSON", "JOURNAL_CORRUPT"],
    ['{"v":1,"r":"r","n":"test","e":[null,null,null,null]}', "JOURNAL_CORRUPT"],
    ['{"v":99,"r":"r","n":"test","e":[]}', "JOURNAL_VERSION"],
  ] as const;
  for (const [i, line] of lines.entries()) {
    for (const [body, code] of bad) {
      const damaged = lines.map((each) => (each === line ? { ...line, body } : each));
      const fails = () => folded(damaged);
      expect(fails, `${i}: ${body}`).toThrow(
        expect.objectContaining({ code, details: expect.objectContaining({ seq: line.seq }) }),
      );
    }
    // An unknown key, in a line that is usual otherwise.
    const known = line.body.replace('{"m":', '{"later":1,"m":');
    const damaged = lines.map((each) => (each === line ? { ...line, body: known } : each));
    expect(() => folded(damaged)).toThrow(/later/);
    const gone = lines.filter((each) => each !== line);
    if (i < lines.length - 1) expect(() => folded(gone)).toThrow(expect.objectContaining({ code: "JOURNAL_CORRUPT" }));
  }
});
