// What really happened in a world, held against what the runtime says: effects of tools, inputs that were given, the
// journal in the store. Everything that does not fit is a problem.

import { deepStrictEqual } from "node:assert/strict";
import { type BelayEvent, type Fact, isFact } from "../../event.ts";
import type { Line } from "../../journal/codec.ts";
import type { Json } from "../../json.ts";
import type { Message } from "../../message.ts";
import type { ModelRequest } from "../../model/model.ts";
import type { Receipt } from "../../runner/ending.ts";
import type { Session } from "../../runner/session.ts";
import {
  factProblems,
  factsOf,
  folded,
  type GivenInput,
  inputProblems,
  inputsIn,
  prefixProblems,
  resultsIn,
} from "../journal-checks.ts";
import { promptProblems } from "../providers/render.ts";
import { type Process, placeOf } from "./process.ts";
import { type Effect, repeatable } from "./tools.ts";

export type Given = { -readonly [K in keyof GivenInput]: GivenInput[K] };

export class Witness {
  readonly problems: string[] = [];
  readonly effects: Effect[] = [];
  readonly inputs: Given[] = [];
  readonly #threadId: string;
  readonly #prefill: boolean;
  readonly #lines: () => readonly Line[];
  readonly #facts: Fact[] = [];
  readonly #asked = new Map<string, Json>();
  #read = 0;
  #checked = "";

  constructor(threadId: string, prefill: boolean, lines: () => readonly Line[]) {
    this.#threadId = threadId;
    this.#prefill = prefill;
    this.#lines = lines;
  }

  /** The journal as it is in the store. */
  get facts(): readonly Fact[] {
    const lines = this.#lines();
    this.#facts.push(...factsOf(this.#threadId, lines.slice(this.#read), this.#asked));
    this.#read = lines.length;
    return this.#facts;
  }

  /** A tool starts: once, on record, and not after a stop. */
  began(process: Process, effect: Effect): void {
    const here = `${effect.tool} ${effect.callId} in process ${process.number}`;
    const before = this.effects.some((each) => each.key === effect.key);
    this.effects.push(effect);
    if (before && !repeatable(effect.tool)) this.problems.push(`${here} ran twice`);
    const watched = process.watched.findLast((each) => placeOf(each.run) === placeOf(effect));
    if (watched?.stopping) this.problems.push(`${here} started after a stop`);
    // A process that stood still may start a call after others took over: they cannot know, and say "unknown".
    if (process.wasFrozen) return;
    const last = this.facts.findLast((fact) => "callId" in fact && fact.callId === effect.callId);
    if (last?.type !== "tool-start") this.problems.push(`${here} started without a record of it`);
  }

  /** A model is asked: validly (H1), truthfully (H2), with all that people said. */
  asked({ messages }: ModelRequest): void {
    const problems = promptProblems(messages, { prefill: this.#prefill });
    this.problems.push(...problems.map((problem) => `request: ${problem}`));
    this.#told(messages);
    const given = inputsIn(messages);
    const stored = inputsIn(this.#history().messages);
    if (given.some((text, i) => text !== stored[i])) this.problems.push(`request: inputs ${given}, stored ${stored}`);
  }

  #told(messages: readonly Message[]): void {
    for (const { id, tool, outcome } of resultsIn(messages)) {
      const ran = this.effects.some((effect) => effect.callId === id);
      const here = `${tool} ${id}`;
      if (outcome === "not-executed" && ran) this.problems.push(`${here} ran and is told as not executed`);
      if ((outcome === "ok" || outcome === "interrupted") && !ran)
        this.problems.push(`${here} never ran, told as ${outcome}`);
    }
  }

  /** A stop is over: what runs in that process is in `late`. */
  stopped(process: Process, receipt: Receipt): void {
    if (process.dead) return;
    for (const { callId, tool, ended, closed, process: number } of this.effects) {
      if (number !== process.number || ended || closed || receipt.late.includes(callId)) continue;
      this.problems.push(`${tool} ${callId} runs at a receipt that does not say so`);
    }
  }

  /** Right after a stretch: its session tells what the store has. Others may have written since, which it has not read. */
  ended(process: Process, session: Session, place: string): void {
    const last = this.facts.findLast((fact) => placeOf(fact) === place)?.seq ?? 0;
    const { messages } = this.#history(last);
    try {
      deepStrictEqual(plain(session.messages), plain(messages));
    } catch (error) {
      this.problems.push(`process ${process.number} tells another history than the store: ${(error as Error).message}`);
    }
  }

  /** Someone sees an event: if it is a fact, it is in the store (F1). */
  seen(event: BelayEvent): void {
    if (!isFact(event)) return;
    const stored = this.facts[event.seq - 1];
    try {
      deepStrictEqual(plain(event), plain(stored));
    } catch {
      this.problems.push(`seen, but not as stored: ${JSON.stringify(event)} ${JSON.stringify(stored)}`);
    }
  }

  /** What holds at any time. */
  check(): void {
    const now = `${this.facts.length} ${this.effects.length} ${this.inputs.map((input) => input.taken)}`;
    if (now === this.#checked) return;
    this.#checked = now;
    const { messages, waiting } = this.#history();
    this.problems.push(...factProblems(this.facts), ...inputProblems(this.inputs, inputsIn([...messages, ...waiting])));
    this.#told(messages);
  }

  /** What held at every time. */
  checkPast(): void {
    this.problems.push(...prefixProblems(this.#threadId, this.#lines()));
  }

  #history(upTo = Number.POSITIVE_INFINITY): {
    readonly messages: readonly Message[];
    readonly waiting: readonly Message[];
  } {
    const lines = this.#lines().filter((line) => line.seq <= upTo);
    const [scope] = folded(this.#threadId, lines).scopes.values();
    return scope ?? { messages: [], waiting: [] };
  }
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
