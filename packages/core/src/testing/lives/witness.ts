// What really happened in a life, and what of it does not fit: each effect at most once, prompts valid, the journal sound
// after every line, and what people said in the history once.

import type { Fact } from "../../event.ts";
import type { Handle } from "../../interrupt/interrupt.ts";
import type { Line } from "../../journal/codec.ts";
import { type Message, messageText } from "../../message.ts";
import type { Receipt } from "../../runner/ending.ts";
import type { Waiting } from "../../runner/waiting.ts";
import { factProblems, factsOf, folded, prefixProblems } from "../journal-checks.ts";
import { promptProblems } from "../providers/render.ts";
import type { Effect, EffectPlace } from "./scene.ts";

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
    return factsOf(threadId, this.#lines(threadId), new Map());
  }

  state(threadId: string) {
    return folded(threadId, this.#lines(threadId));
  }

  began(
    process: number,
    tool: string,
    place: EffectPlace,
    how: { readonly step?: string; readonly repeatable?: boolean },
  ): Effect {
    const { threadId, idempotencyKey, callId = "" } = place;
    const key = how.step === undefined ? idempotencyKey : `${idempotencyKey}/s:${how.step}`;
    const before = this.effects.filter((each) => each.key === key && each.threadId === threadId).length;
    const once = !how.repeatable && how.step === undefined;
    if (once && before > this.#allowedAgain(threadId, callId)) this.problem(`effect ${tool} ${key} happens again`);
    const step = how.step !== undefined;
    const effect: Effect = { key, callId, tool, threadId, process, step, ended: false, behind: false };
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

  /** A stop that is over names every call that still runs. */
  stopped(process: number, threadId: string, { runId, segment, late }: Receipt): void {
    const { run } = this.state(threadId);
    if (run?.id !== runId || run?.segment !== segment) return;
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
    for (const problem of factProblems(facts)) {
      if (!this.#excused(problem, facts)) this.problem(`${threadId}: ${problem}`);
    }
    const ended = new Set<string>();
    for (const fact of facts) {
      if (fact.type !== "tool-end" || fact.held) continue;
      if (ended.has(fact.callId)) this.problem(`${threadId}: call ${fact.callId} ends again at ${fact.seq}`);
      ended.add(fact.callId);
    }
  }

  #excused(problem: string, facts: readonly Fact[]): boolean {
    if (this.crashed && /^paused at .* calls have no end/.test(problem)) return true;
    // Code may go on without an agent that has failed; those inside that one have no end of their own then.
    const [, agents] = /^completed at .* while (.*) has no end$/.exec(problem) ?? [];
    const failed = facts.flatMap((fact) => (fact.type === "run-end" && fact.status === "failed" ? [fact.runPath] : []));
    if (agents?.split(", ").every((agent) => failed.some((path) => agent.startsWith(`${path}/`)))) return true;
    // A call to an agent goes on in its place, also where it was cut before the agent began.
    const [, calls] = /calls have no end: ([^(]*)/.exec(problem) ?? [];
    return calls?.split("; ").every((call) => AGENT.test(call.trim())) ?? false;
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
      if (taken === true && n === 0 && !this.#answered(threadId, text)) this.problem(`${text} is lost`);
    }
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
  #answered(threadId: string, text: string): boolean {
    return this.facts(threadId).some(
      (fact) =>
        fact.type === "request-answered" && fact.answer.type === "respond" && String(fact.answer.value).includes(text),
    );
  }
}

const AGENT = /,(sequential|parallel|loop|agentTool|transfer|code|graph|chat)\d+b?$/;
