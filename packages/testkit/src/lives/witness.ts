// What really happened in a life, and what of it does not fit: each effect at most once, prompts valid, the journal sound
// after every line, and what people said in the history once.

import { type Fact, type Handle, type Json, type Message, messageText, type Receipt, type Waiting } from "@belay/core";
import {
  answerProblems,
  effectProblems,
  factProblems,
  factsIn,
  folded,
  isWithin,
  type Line,
  openRequests,
  prefixProblems,
  type SaidAnswer,
} from "@belay/core/inside";
import { promptProblems } from "@belay/core/testing";
import type { Effect, EffectKind, EffectPlace } from "./scene.ts";

/** Words given with run() or resume(). */
export interface GivenWords {
  readonly text: string;
  /** For an agent inside: it is not in the history of the root. */
  readonly to: string | undefined;
  /** Undefined where nobody can know. */
  taken: boolean | undefined;
}

/** Words sent by steer() or enqueue(). */
export interface SentWords {
  readonly text: string;
  readonly id: string;
  sent: boolean;
  /** Undefined while it is being taken back. */
  withdrawn: boolean | undefined;
}

export class Witness {
  readonly problems: string[] = [];
  /** The life so far, for whoever reads of a problem. */
  readonly log: string[] = [];
  readonly effects: Effect[] = [];
  readonly given: GivenWords[] = [];
  readonly sent: SentWords[] = [];
  readonly handles: Handle[] = [];
  /** Calls that heeded nothing and gave their result at last. */
  readonly #spoke: EffectPlace[] = [];
  /** A process died or let go, or its store failed: readers may miss what was between facts. */
  disturbed = false;
  /** A call may have no end on record where its process died, or could not write. */
  crashed = false;
  readonly #lines: (threadId: string) => readonly Line[];
  readonly #read = new Map<string, { lines: number; readonly facts: Fact[]; readonly asked: Map<string, Json> }>();
  readonly #answers: SaidAnswer[] = [];
  /** How often a pause was left by its handle. */
  readonly #tokens = new Map<string, number>();

  constructor(lines: (threadId: string) => readonly Line[]) {
    this.#lines = lines;
  }

  problem(what: string): void {
    if (this.problems.includes(what)) return;
    this.problems.push(what);
    this.note(`!! ${what}`);
  }

  note(what: string): void {
    this.log.push(what);
  }

  /** A handle goes into other hands as text. */
  issued(handle: Handle): void {
    this.handles.push(JSON.parse(JSON.stringify(handle)));
  }

  facts(threadId: string): readonly Fact[] {
    const lines = this.#lines(threadId);
    let read = this.#read.get(threadId);
    if (read === undefined) {
      read = { lines: 0, facts: [], asked: new Map() };
      this.#read.set(threadId, read);
    }
    if (lines.length > read.lines) {
      read.facts.push(...factsIn(threadId, lines.slice(read.lines), read.asked));
      read.lines = lines.length;
    }
    return read.facts;
  }

  state(threadId: string) {
    return folded(threadId, this.#lines(threadId));
  }

  began(process: number, tool: string, place: EffectPlace, how: EffectKind): Effect {
    const { threadId, idempotencyKey, callId = "" } = place;
    const key = how.step === undefined ? idempotencyKey : `${idempotencyKey}/s:${how.step}`;
    const before = this.effects.filter((each) => each.key === key && each.threadId === threadId).length;
    const once = !how.repeatable && how.step === undefined;
    if (once && before > this.#allowedAgain(threadId, callId)) this.problem(`effect ${tool} ${key} happens again`);
    const step = how.step !== undefined;
    const facts = this.facts(threadId);
    if (once) {
      const last = facts.findLast(
        (fact) => "callId" in fact && fact.callId === callId && /^tool-(start|end)$/.test(fact.type),
      );
      if (last?.type !== "tool-start") this.problem(`${tool} ${callId} begins, and its last word is ${last?.type}`);
    }
    const name = key.slice(key.indexOf(":", threadId.length + 1) + 1);
    const effect: Effect = {
      name,
      head: facts.length,
      after: how.after,
      key,
      callId,
      tool,
      threadId,
      process,
      step,
      ended: false,
      behind: false,
    };
    this.effects.push(effect);
    return effect;
  }

  /** How often a person has said that a call of which nobody knows is to run again. */
  #allowedAgain(threadId: string, callId: string): number {
    const facts = this.facts(threadId);
    const doubts = new Set(
      facts.flatMap((fact) => {
        const { kind, callId: of, id } = (fact.type === "action" && fact.action.interrupted) || {};
        return kind === "unknown" && of === callId ? [id] : [];
      }),
    );
    return facts.filter(
      (fact) =>
        fact.type === "request-answered" &&
        doubts.has(fact.id) &&
        fact.answer.type === "approve" &&
        !fact.refused &&
        !fact.open,
    ).length;
  }

  spoke(place: EffectPlace): void {
    this.#spoke.push(place);
  }

  asked(agent: string, messages: readonly Message[], prefill: boolean): void {
    for (const problem of promptProblems(messages, { prefill })) this.problem(`request of ${agent}: ${problem}`);
  }

  /** What that process began is on nobody's receipt any more. */
  leaveBehind(process: number): void {
    this.disturbed = true;
    for (const effect of this.effects) if (effect.process === process) effect.behind = true;
  }

  /** A stop that is over names every call that still runs, and every one that is held. */
  stopped(process: number, threadId: string, receipt: Receipt, keeps: boolean): void {
    const { runId, segment, late } = receipt;
    const state = this.state(threadId);
    const { run, scopes, pauseType } = state;
    if (run?.id !== runId || run?.segment !== segment) return;
    const open = openRequests(state);
    if (!keeps && pauseType !== undefined && open.length > 0)
      this.problem(`${open.map(({ id }) => id)} is asked, and the stop that took it back is told`);
    const named = new Set([...late, ...receipt.stopped, ...receipt.finished, ...receipt.notStarted]);
    // One that has failed is not stopped: what it has not begun is tried again with it. One that the stretch has not come to is not met.
    const failed = [...scopes.values()].flatMap(({ path, settled }) => (settled === undefined ? [] : [path]));
    const reached = new Set(this.facts(threadId).flatMap((fact) => (fact.segment === segment ? [fact.runPath] : [])));
    for (const { path, calls } of pauseType === "user_interrupt" ? scopes.values() : []) {
      if (isWithin(path, failed) || !reached.has(path)) continue;
      for (const { part, status } of calls) {
        if (status !== "held" || named.has(part.id)) continue;
        this.problem(`${part.id} of ${path} is held, and the receipt does not say so`);
      }
    }
    for (const effect of this.effects) {
      const { callId, ended, behind, step } = effect;
      if (effect.threadId !== threadId || effect.process !== process || ended || behind || step) continue;
      if (!late.includes(callId)) this.problem(`${effect.tool} ${callId} runs on, and the receipt does not say so`);
    }
  }

  checkJournal(threadId: string): void {
    this.checkFacts(threadId);
    for (const problem of prefixProblems(threadId, this.#lines(threadId))) this.problem(`${threadId}: ${problem}`);
  }

  checkFacts(threadId: string): void {
    const facts = this.facts(threadId);
    for (const problem of factProblems(facts)) this.problem(`${threadId}: ${problem}`);
    const ended = new Set<string>();
    for (const fact of facts) {
      if (fact.type !== "tool-end" || fact.held) continue;
      if (ended.has(fact.callId)) this.problem(`${threadId}: call ${fact.callId} ends again at ${fact.seq}`);
      ended.add(fact.callId);
    }
  }

  /** Every word in the history of the root once; none that was refused or taken back. `heard`: there are models, so that what is sent is heard. */
  checkWords(threadId: string, messages: readonly Message[], heard: boolean): void {
    const found = messages.filter(({ origin }) => origin === "person").map(messageText);
    const times = (text: string) => found.filter((each) => each === text).length;
    for (const { id, text, sent, withdrawn } of this.sent) {
      const n = times(text);
      if (n > 1) this.problem(`${id} is ${n} times in the history`);
      if (withdrawn && n > 0) this.problem(`${id} was taken back, and is in the history`);
      if (heard && sent && withdrawn === false && n === 0) this.problem(`${id} is lost`);
    }
    for (const { text, to, taken } of this.given) {
      if (to !== undefined) continue;
      const n = times(text);
      if (n > 1) this.problem(`${text} is ${n} times in the history`);
      if (taken === false && n > 0) this.problem(`${text} was refused, and is in the history`);
      if (taken === true && n === 0 && !this.#isAnswer(threadId, text)) this.problem(`${text} is lost`);
    }
  }

  answers(id: string, by: string): SaidAnswer {
    const said: SaidAnswer = { id, by, vain: false, told: undefined, lost: false };
    this.#answers.push(said);
    return said;
  }

  /** A pause is left once. */
  wentOn({ token }: Handle): void {
    const times = (this.#tokens.get(token) ?? 0) + 1;
    this.#tokens.set(token, times);
    if (times > 1) this.problem(`a handle was good for going on ${times} times`);
  }

  /** Whoever answered was told the truth, and what was done was on record before. */
  checkDeeds(threadId: string): void {
    const facts = this.facts(threadId);
    // Who got no word had a process that died; the others are asked for where all is stopped.
    const told = this.#answers.filter((each) => each.told !== undefined);
    for (const problem of answerProblems(told, facts)) this.problem(`${threadId}: ${problem}`);
    // Addresses are of a run: the next one has the same, and begins with the ends of what the last one left.
    for (const runId of new Set(facts.map((fact) => fact.runId))) {
      const effects = this.effects.filter(({ key }) => key.startsWith(`${threadId}:${runId}:`));
      const from = facts.findIndex((fact) => fact.type === "run-start" && fact.runId === runId);
      const within = facts.slice(Math.max(from, 0)).filter((fact) => fact.runId === runId);
      for (const problem of effectProblems(within, effects)) this.problem(`${threadId}: ${problem}`);
    }
  }

  /** The inbox has what the journal has open, but for what has had its time. */
  checkInbox(
    threadId: string,
    listed: readonly { readonly id: string; readonly threadId: string }[],
    now: number,
  ): void {
    const requests = openRequests(this.state(threadId));
    const open = requests.flatMap(({ id, expiresAt }) => (expiresAt !== undefined && expiresAt <= now ? [] : [id]));
    const found = listed.flatMap((item) => (item.threadId === threadId ? [item.id] : []));
    const [a, b] = [open.sort().join(", "), found.sort().join(", ")];
    if (a !== b) this.problem(`${threadId}: open are ${a || "none"}, and the inbox has ${b || "none"}`);
  }

  /** What a call gave after a stop had left it behind is told, or waits to be. */
  checkLateWords(threadId: string, waiting: readonly Waiting[]): void {
    const facts = this.facts(threadId);
    for (const { callId, threadId: on } of this.#spoke) {
      const end = facts.findLast((fact) => fact.type === "tool-end" && fact.callId === callId);
      if (on !== threadId || end?.type !== "tool-end" || end.outcome !== "interrupted") continue;
      const told = facts.some((fact) => fact.type === "tool-late" && fact.callId === callId);
      const waits = waiting.some((each) => each.kind === "late" && JSON.stringify(each).includes(callId!));
      if (!told && !waits) this.problem(`the late word of ${callId} is lost`);
    }
  }

  /** New input may be the answer to a question. */
  #isAnswer(threadId: string, text: string): boolean {
    return this.facts(threadId).some(
      (fact) =>
        fact.type === "request-answered" && fact.answer.type === "respond" && String(fact.answer.value).includes(text),
    );
  }
}
