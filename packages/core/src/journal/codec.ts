// How facts are written down. One append is one line of JSON: what its facts share stands once at the front, and
// nothing that can be found elsewhere in the journal (the arguments of a started call) is written again.
//
// 1. decode(encode(facts)) gives equal facts.
// 2. A line of a newer version, or with anything unknown in it, is refused, never guessed at (C4).

import { belayError } from "../error.ts";
import type { EventBase, Fact } from "../event.ts";
import type { Json } from "../json.ts";
import type { Message } from "../message.ts";

export const JOURNAL_VERSION = 1;

/** What one append adds to a journal, as a store keeps it. */
export interface Line {
  /** The seq of its first fact. */
  readonly seq: number;
  readonly count: number;
  readonly at: number;
  readonly body: string;
}

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;
type Own<T extends Fact["type"]> = Omit<Of<T>, keyof EventBase>;

/** The written form of a fact: `x` is its attempt where it is not 1, `n` and `p` where its agent is not the line's. */
type Written = (
  | Own<"run-start">
  | (Omit<Own<"message">, "message" | "turn"> & { readonly m: Message; readonly t?: number })
  | Omit<Own<"tool-start">, "args">
  | Own<"tool-end">
  | Own<"action">
  | Own<"state">
  | Own<"run-end">
) & { readonly x?: number; readonly n?: string; readonly p?: string };

interface Body {
  readonly v: number;
  readonly r: string;
  readonly s: number;
  readonly n: string;
  readonly p?: string;
  readonly e: readonly Written[];
}

export function encode(facts: readonly Fact[]): string {
  const first = facts[0]!;
  const body: Body = {
    v: JOURNAL_VERSION,
    r: first.runId,
    s: first.segment,
    n: first.agentName,
    p: first.runPath === first.agentName ? undefined : first.runPath,
    e: facts.map((fact) => write(fact, first)),
  };
  return JSON.stringify(body);
}

function write(fact: Fact, first: Fact): Written {
  const x = fact.attempt === 1 ? undefined : fact.attempt;
  const foreign = fact.runPath !== first.runPath;
  const n = foreign ? fact.agentName : undefined;
  const p = foreign ? fact.runPath : undefined;
  switch (fact.type) {
    case "run-start":
      return { type: fact.type, x, n, p };
    case "message":
      return { type: fact.type, t: fact.turn || undefined, m: fact.message, x, n, p };
    case "tool-start":
      return { type: fact.type, callId: fact.callId, tool: fact.tool, address: fact.address, x, n, p };
    case "tool-end": {
      const { type, callId, tool, address, outcome, output, held } = fact;
      return { type, callId, tool, address, outcome, output, held, x, n, p };
    }
    case "action":
      return { type: fact.type, action: fact.action, x, n, p };
    case "state": {
      const { type, state, pauseType, interrupts, tokenHash, mode, repair } = fact;
      return { type, state, pauseType, interrupts, tokenHash, mode, repair, x, n, p };
    }
    case "run-end":
      return {
        type: fact.type,
        status: fact.status,
        finish: fact.finish,
        usage: fact.usage,
        error: fact.error,
        x,
        n,
        p,
      };
    default:
      return fact satisfies never;
  }
}

/** Reads a line back. `argsOf` finds what a started call was asked for, where its message is not in the same line. */
export function decode(threadId: string, line: Line, argsOf?: (callId: string) => Json | undefined): Fact[] {
  const body = parse(threadId, line);
  const asked = new Map<string, Json>();
  return body.e.map((written, i) => {
    const base: EventBase = {
      seq: line.seq + i,
      at: line.at,
      threadId,
      runId: body.r,
      segment: body.s,
      attempt: written.x ?? 1,
      agentName: written.n ?? body.n,
      runPath: written.p ?? written.n ?? body.p ?? body.n,
    };
    if (written.type === "message") {
      for (const part of written.m.parts) if (part.type === "call") asked.set(part.id, part.args);
    }
    return read(written, base, (id) => asked.get(id) ?? argsOf?.(id) ?? null);
  });
}

function read(written: Written, base: EventBase, argsOf: (callId: string) => Json): Fact {
  switch (written.type) {
    case "message":
      return { ...base, type: written.type, turn: written.t ?? 0, message: written.m };
    case "tool-start": {
      const { type, callId, tool, address } = written;
      return { ...base, type, callId, tool, address, args: argsOf(callId) };
    }
    case "run-start":
    case "tool-end":
    case "action":
    case "state":
    case "run-end": {
      const { x: _x, n: _n, p: _p, ...own } = written;
      return { ...base, ...own } as Fact;
    }
    default:
      written satisfies never;
      throw corrupt(base.threadId, base.seq, `unknown fact ${JSON.stringify((written as Written).type)}`);
  }
}

function parse(threadId: string, line: Line): Body {
  let body: Body;
  try {
    body = JSON.parse(line.body) as Body;
  } catch (error) {
    throw corrupt(threadId, line.seq, error instanceof Error ? error.message : String(error));
  }
  if (typeof body !== "object" || body === null || typeof body.v !== "number") {
    throw corrupt(threadId, line.seq, "a line without a version");
  }
  if (body.v > JOURNAL_VERSION) {
    throw belayError("JOURNAL_VERSION", { threadId, seq: line.seq, found: body.v, known: JOURNAL_VERSION });
  }
  if (!Array.isArray(body.e) || body.e.length !== line.count) {
    throw corrupt(threadId, line.seq, `a line of ${line.count} facts with ${body.e?.length ?? "no"} in it`);
  }
  return body;
}

function corrupt(threadId: string, seq: number, problem: string): Error {
  return belayError("JOURNAL_CORRUPT", { threadId, seq, problem });
}
