// What really happened in a world, held against what the runtime says: effects of tools, inputs that were given, the
// journal in the store. Everything that does not fit is a problem.

import { deepStrictEqual } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { BelayEvent, Fact, Interrupt, Json, Message, ModelRequest, Receipt, Session } from "@belay/core";
import {
  answerProblems,
  factProblems,
  factsIn,
  folded,
  type GivenInput,
  inputProblems,
  inputsIn,
  isFact,
  isRequest,
  type Line,
  prefixProblems,
  resultsIn,
  type SaidAnswer,
} from "@belay/core/inside";
import { promptProblems } from "@belay/core/testing";
import { type Process, placeOf } from "./process.ts";
import { type Effect, mayOnlyAsk, repeatable } from "./tools.ts";

type RequestAnsweredEvent = Extract<Fact, { readonly type: "request-answered" }>;

export type Given = { -readonly [K in keyof GivenInput]: GivenInput[K] };

/** Words that were sent. */
export interface Sent {
  readonly text: string;
  readonly id: string;
  /** Undefined where nobody can know. */
  sent: boolean | undefined;
  withdrawn: boolean | undefined;
}

export class Witness {
  readonly problems: string[] = [];
  readonly effects: Effect[] = [];
  readonly inputs: Given[] = [];
  readonly said: SaidAnswer[] = [];
  readonly sent: Sent[] = [];
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
    this.#facts.push(...factsIn(this.#threadId, lines.slice(this.#read), this.#asked));
    this.#read = lines.length;
    return this.#facts;
  }

  /** A tool starts: once, on record, and not after a stop. */
  began(process: Process, effect: Effect): void {
    const here = `${effect.tool} ${effect.callId} in process ${process.number}`;
    const before = this.effects.filter((each) => each.key === effect.key).length;
    this.effects.push(effect);
    const recorded = this.facts.some(
      (fact) => fact.type === "step" && effect.key.endsWith(`:${fact.runId}:${fact.address}`),
    );
    if (recorded) this.problems.push(`${here} computes a step that is recorded`);
    // A step that was cut off while its call waited for another answer may run again.
    const again = repeatable(effect.tool) || (effect.step && effect.tool === "pair");
    if (before > this.#again(effect.callId) && !again) this.problems.push(`${here} ran twice`);
    const watched = process.watched.findLast((each) => placeOf(each.run) === placeOf(effect));
    // After its end an answer may still let a call of it run.
    if (watched?.stopping && watched.result === undefined && !effect.step)
      this.problems.push(`${here} started after a stop`);
    // A process that stood still may start a call after others took over: they cannot know, and say "unknown".
    if (process.wasFrozen) return;
    const last = this.facts.findLast(
      (fact) =>
        (fact.type === "tool-start" || (fact.type === "tool-end" && !effect.step)) && fact.callId === effect.callId,
    );
    if (last?.type !== "tool-start") this.problems.push(`${here} started without a record of it`);
  }

  /** How often a person said that the call shall run again. */
  #again(callId: string): number {
    const doubts = new Set(
      this.#requests.filter(({ kind, callId: of }) => kind === "unknown" && of === callId).map(({ id }) => id),
    );
    return this.#answers.filter(({ id, answer }) => doubts.has(id) && answer.type === "approve").length;
  }

  get #answers(): readonly RequestAnsweredEvent[] {
    return this.facts.filter((fact): fact is RequestAnsweredEvent => fact.type === "request-answered" && !fact.refused);
  }

  /** A person's answer stands for the result of the call. */
  #isGiven(callId: string): boolean {
    const responded = this.#answers.filter(({ answer }) => answer.type === "respond").map(({ id }) => id);
    return this.#requests.some(
      (request) => request.callId === callId && request.key === undefined && responded.includes(request.id),
    );
  }

  get #requests(): readonly Interrupt[] {
    return this.facts.flatMap((fact) => (fact.type === "action" ? (fact.action.interrupted ?? []) : []));
  }

  /** As the journal has them, in the order they were raised. */
  get requests(): { readonly open: readonly Interrupt[]; readonly decided: readonly Interrupt[] } {
    const over = new Set(this.#answers.flatMap(({ id, open }) => (open ? [] : [id])));
    const all = this.#requests.filter(isRequest);
    return { open: all.filter(({ id }) => !over.has(id)), decided: all.filter(({ id }) => over.has(id)) };
  }

  /** A model is asked: validly (H1), truthfully (H2), with all that people said, and not after a stop. */
  asked(process: Process, { messages }: ModelRequest): void {
    if (process.current?.stopping && !process.dead) {
      this.problems.push(`process ${process.number} asks a model after a stop`);
    }
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
      if ((outcome === "not-executed" || outcome === "rejected") && ran) {
        this.problems.push(`${here} ran and is told as ${outcome}`);
      }
      if ((outcome === "ok" || outcome === "interrupted") && !ran && !mayOnlyAsk(tool) && !this.#isGiven(id))
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
    const end = this.facts.find(
      (fact) => placeOf(fact) === place && fact.type === "state" && !["running", "initialized"].includes(fact.state),
    );
    const told = plain(session.messages);
    const at = (seq: number) => plain(this.#history(seq).messages);
    // It may have read some of what followed: answers, and the calls that they let run.
    for (const { seq } of this.#lines()) if (seq >= (end?.seq ?? 0) && isDeepStrictEqual(told, at(seq))) return;
    try {
      deepStrictEqual(told, at(end?.seq ?? 0));
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
    const sent = new Set(this.sent.map(({ text }) => text));
    const given = inputsIn([...messages, ...waiting]).filter((text) => !sent.has(text));
    this.problems.push(...factProblems(this.facts), ...inputProblems(this.inputs, given));
    this.#told(messages);
  }

  /** What held at every time, and what everyone was told. */
  checkPast(): void {
    this.problems.push(...answerProblems(this.said, this.facts));
    this.problems.push(...prefixProblems(this.#threadId, this.#lines()));
  }

  /** What was sent is in the history once, or still waits; what was taken back is neither. */
  checkSent(waiting: ReadonlySet<string>): void {
    const history = this.#history();
    const found = inputsIn([...history.messages, ...history.waiting]);
    for (const { text, id, sent, withdrawn } of this.sent) {
      const times = found.filter((each) => each === text).length + (waiting.has(id) ? 1 : 0);
      const most = sent === false || withdrawn === true ? 0 : 1;
      const least = sent === true && withdrawn === false ? 1 : 0;
      if (times > most || times < least) {
        this.problems.push(`${text} (sent ${sent}, withdrawn ${withdrawn}) is ${times} times there`);
      }
    }
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
