// The real events around a thread, compared with the reports of the runtime: each effect at most once, on record and not
// after a stop, prompts valid, the journal sound after every line, each input in the history once, and everything that readers
// and senders were told on record. Everything that does not fit is a problem. Long, and still one piece: every check reads
// the same record of what was said, done and answered.

import { isDeepStrictEqual } from "node:util";
import {
  type BelayEvent,
  type Fact,
  type Handle,
  type Interrupt,
  type Message,
  messageText,
  type Receipt,
  type Session,
  type Waiting,
} from "@belay/core";
import {
  answerProblems,
  effectProblems,
  factProblems,
  folded,
  type GivenInput,
  inputProblems,
  inputsIn,
  isFact,
  isRequest,
  isWithin,
  type Line,
  LineReader,
  openRequests,
  prefixProblems,
  resultsIn,
  type SaidAnswer,
} from "@belay/core/inside";
import { promptProblems } from "@belay/core/testing";
import { foldProblems } from "../folds/fold-problems.ts";
import type { Effect, EffectKind, EffectPlace } from "./effect.ts";
import { type Actor, placeOf, THREAD } from "./segment.ts";

type RequestAnsweredEvent = Extract<Fact, { readonly type: "request-answered" }>;

/** Words given with run() or resume(). */
export interface Given extends GivenInput {
  /** An agent inside: the words are not in the history of the root. */
  readonly to?: string | undefined;
  taken: boolean | undefined;
}

/** Words sent by steer() or enqueue(). */
export interface Sent {
  readonly text: string;
  readonly id: string;
  /** Undefined while its sender does not know. */
  sent: boolean | undefined;
  /** Undefined while it is being taken back. */
  withdrawn: boolean | undefined;
}

type Read = { lines: number; readonly facts: Fact[]; readonly reader: LineReader };

export class Witness {
  readonly problems: string[] = [];
  /** The life so far, for the report of a problem. */
  readonly log: string[] = [];
  readonly effects: Effect[] = [];
  readonly given: Given[] = [];
  readonly sent: Sent[] = [];
  readonly handles: Handle[] = [];
  /** Calls that heeded nothing and gave their result at last. */
  readonly #spoke: EffectPlace[] = [];
  /** A process died or released the thread, or its store failed: readers may miss drafts between facts. */
  disturbed = false;
  readonly #lines: (threadId: string) => readonly Line[];
  readonly #read = new Map<string, Read>();
  readonly #answers: (SaidAnswer & { readonly process: number })[] = [];
  #checked = "";
  /** How often a pause was left by its handle. */
  readonly #tokens = new Map<string, number>();

  readonly #mayOnlyAsk: ReadonlySet<string>;

  /** `mayOnlyAsk`: tools that may end, or be cut, when all that they have done is to ask. */
  constructor(lines: (threadId: string) => readonly Line[], mayOnlyAsk: readonly string[] = []) {
    this.#lines = lines;
    this.#mayOnlyAsk = new Set(mayOnlyAsk);
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

  /** Returns the journal as the store has it. */
  facts(threadId = THREAD): readonly Fact[] {
    const lines = this.#lines(threadId);
    let read = this.#read.get(threadId);
    if (read === undefined) {
      read = { lines: 0, facts: [], reader: new LineReader(threadId) };
      this.#read.set(threadId, read);
    }
    if (lines.length > read.lines) {
      for (const line of lines.slice(read.lines)) read.facts.push(...read.reader.read(line));
      read.lines = lines.length;
    }
    return read.facts;
  }

  state(threadId = THREAD) {
    return folded(threadId, this.#lines(threadId));
  }

  /** A tool or a step starts: once, on record, and not after a stop. */
  began(process: Actor, tool: string, place: EffectPlace, how: EffectKind): Effect {
    const { threadId, idempotencyKey, callId = "" } = place;
    const step = how.step !== undefined;
    const key = step ? `${idempotencyKey}/s:${how.step}` : idempotencyKey;
    const here = `${tool} ${callId} in p${process.number}`;
    const facts = this.facts(threadId);
    const before = this.effects.filter((each) => each.key === key && each.threadId === threadId).length;
    if (!how.repeatable && before > this.#allowedAgain(threadId, callId)) this.problem(`${here} happens again`);
    const recorded = facts.some((fact) => fact.type === "step" && key.endsWith(`:${fact.runId}:${fact.address}`));
    if (recorded) this.problem(`${here} computes a step that is recorded`);
    // A fork shares runs and segments with the thread that it comes from.
    const watched = process.watched.findLast(({ run }) => run.threadId === threadId && placeOf(run) === placeOf(place));
    // After the end of its segment an answer may still let a call of it run.
    if (watched?.stopping && watched.result === undefined && !step) this.problem(`${here} started after a stop`);
    // A step may come long after the start of its call, also after a stop that left the call behind.
    const last = facts.findLast(
      (fact) => (fact.type === "tool-start" || (fact.type === "tool-end" && !step)) && fact.callId === callId,
    );
    if (callId !== "" && last?.type !== "tool-start")
      this.problem(`${here} begins, and its last word is ${last?.type}`);
    const name = key.slice(key.indexOf(":", threadId.length + 1) + 1);
    const effect: Effect = {
      name,
      head: facts.length,
      after: how.after,
      key,
      callId,
      tool,
      threadId,
      process: process.number,
      step,
      ended: false,
      behind: false,
    };
    this.effects.push(effect);
    return effect;
  }

  /** How often a person has let a call of unknown outcome run again. */
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

  /** A process died: the senders of its answers get no word. */
  died(process: number): void {
    this.leaveBehind(process);
    for (const said of this.#answers) if (said.process === process) said.lost ||= said.told === undefined;
  }

  /** Calls of that process are on no receipt any more. */
  leaveBehind(process: number): void {
    this.disturbed = true;
    for (const effect of this.effects) if (effect.process === process) effect.behind = true;
  }

  /** A stop is over: its receipt names every held call, and people are asked nothing any more. */
  checkReceipt(threadId: string, receipt: Receipt, keeps: boolean): void {
    const { runId, segment, late } = receipt;
    const state = this.state(threadId);
    const { run, scopes, pauseType } = state;
    if (run?.id !== runId || run?.segment !== segment) return;
    const open = openRequests(state);
    if (!keeps && pauseType !== undefined && open.length > 0)
      this.problem(`${open.map(({ id }) => id)} is asked, and the stop that took it back is told`);
    const named = new Set([...late, ...receipt.stopped, ...receipt.finished, ...receipt.notStarted]);
    // A failed agent is not stopped: its held calls are tried again with it. An agent that the segment has not reached is not named.
    const failed = [...scopes.values()].flatMap(({ path, settled }) => (settled === undefined ? [] : [path]));
    const reached = new Set(this.facts(threadId).flatMap((fact) => (fact.segment === segment ? [fact.runPath] : [])));
    for (const { path, calls } of pauseType === "user_interrupt" ? scopes.values() : []) {
      if (isWithin(path, failed) || !reached.has(path)) continue;
      for (const { part, status } of calls) {
        if (status !== "held" || named.has(part.id)) continue;
        this.problem(`${part.id} of ${path} is held, and the receipt does not say so`);
      }
    }
  }

  /** A stop is over: every call that still runs in that process is in `late`. */
  checkLate(process: Actor, { late }: Receipt): void {
    if (process.dead) return;
    for (const { callId, tool, threadId, ended, behind, process: number } of this.effects) {
      if (threadId !== THREAD || number !== process.number || ended || behind || callId === "") continue;
      if (!late.includes(callId)) this.problem(`${tool} ${callId} runs on, and the receipt does not say so`);
    }
  }

  checkJournal(threadId: string): void {
    this.checkFacts(threadId);
    for (const problem of prefixProblems(threadId, this.#lines(threadId))) this.problem(`${threadId}: ${problem}`);
    for (const problem of foldProblems(threadId, this.#lines(threadId))) this.problem(`${threadId}: ${problem}`);
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

  /**
   * Checks that every input is in the history of the root once, and none that was refused or taken back. `heard`: there are
   * models, so sent inputs are read.
   */
  checkWords(threadId: string, messages: readonly Message[], heard: boolean): void {
    const found = messages.filter(({ origin }) => origin === "person").map(messageText);
    const times = (text: string) => found.filter((each) => each === text).length;
    for (const { id, text, sent, withdrawn } of this.sent) {
      const n = times(text);
      if (n > 1) this.problem(`${id} is ${n} times in the history`);
      if (withdrawn && n > 0) this.problem(`${id} was taken back, and is in the history`);
      if (heard && sent && withdrawn === false && n === 0) this.problem(`${id} is lost`);
    }
    const words = this.given.flatMap(({ texts, to, taken }) => texts.map((text) => ({ text, to, taken })));
    for (const { text, to, taken } of words) {
      if (to !== undefined) continue;
      const n = times(text);
      if (n > 1) this.problem(`${text} is ${n} times in the history`);
      if (taken === false && n > 0) this.problem(`${text} was refused, and is in the history`);
      if (taken === true && n === 0 && !this.#isAnswer(threadId, text)) this.problem(`${text} is lost`);
    }
  }

  /** A person answers by that process. */
  answers(process: number, id: string, by: string, vain: boolean): SaidAnswer {
    const said = { process, id, by, vain, told: undefined, lost: false };
    this.#answers.push(said);
    return said;
  }

  /** A pause is left once. */
  wentOn({ token }: Handle): void {
    const times = (this.#tokens.get(token) ?? 0) + 1;
    this.#tokens.set(token, times);
    if (times > 1) this.problem(`a handle was good for going on ${times} times`);
  }

  /** Each answer got a true reply, and its effect was on record before. */
  checkDeeds(threadId: string): void {
    const facts = this.facts(threadId);
    for (const problem of answerProblems(this.#answers, facts)) this.problem(`${threadId}: ${problem}`);
    // Addresses are unique in a run: the next run has the same ones, and begins with the ends of calls that the last one left open.
    for (const runId of new Set(facts.map((fact) => fact.runId))) {
      const effects = this.effects.filter(({ key }) => key.startsWith(`${threadId}:${runId}:`));
      const from = facts.findIndex((fact) => fact.type === "run-start" && fact.runId === runId);
      const within = facts.slice(Math.max(from, 0)).filter((fact) => fact.runId === runId);
      for (const problem of effectProblems(within, effects)) this.problem(`${threadId}: ${problem}`);
    }
  }

  /** Checks that the inbox lists the open requests of the journal, without expired ones. */
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

  /** The late result of a call that was left behind is reported, or waits to be. */
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

  /** The requests of the thread in the order they were raised. */
  get requests(): { readonly open: readonly Interrupt[]; readonly decided: readonly Interrupt[] } {
    const over = new Set(this.#decisions().flatMap(({ id, open }) => (open ? [] : [id])));
    const all = this.#raised().filter(isRequest);
    return { open: all.filter(({ id }) => !over.has(id)), decided: all.filter(({ id }) => over.has(id)) };
  }

  #raised(): readonly Interrupt[] {
    return this.facts().flatMap((fact) => (fact.type === "action" ? (fact.action.interrupted ?? []) : []));
  }

  #decisions(): readonly RequestAnsweredEvent[] {
    return this.facts().filter((fact) => fact.type === "request-answered" && !fact.refused) as RequestAnsweredEvent[];
  }

  /** A reader sees an event: a fact is in the store by then (F1). */
  seen(event: BelayEvent): void {
    if (!isFact(event)) return;
    const stored = this.facts(event.threadId)[event.seq - 1];
    if (isDeepStrictEqual(plain(event), plain(stored))) return;
    this.problem(`seen, but not as stored: ${JSON.stringify(event)} ${JSON.stringify(stored)}`);
  }

  /** The model of an agent that is alone is asked: not after a stop, truthfully (H2), and with all that people said. */
  askedAlone(process: Actor, messages: readonly Message[]): void {
    if (process.current?.stopping && !process.dead) this.problem(`p${process.number} asks a model after a stop`);
    this.#checkResults(messages);
    const given = inputsIn(messages);
    const stored = inputsIn(this.#history().messages);
    if (given.some((text, i) => text !== stored[i])) this.problem(`request: inputs ${given}, stored ${stored}`);
  }

  /** The results that a model reads of the calls of an agent that is alone. */
  #checkResults(messages: readonly Message[]): void {
    for (const { id, tool, outcome } of resultsIn(messages)) {
      const ran = this.effects.some((effect) => effect.callId === id);
      const here = `${tool} ${id}`;
      if ((outcome === "not-executed" || outcome === "rejected") && ran)
        this.problem(`${here} ran, told as ${outcome}`);
      const needsEffect = (outcome === "ok" || outcome === "interrupted") && !this.#mayOnlyAsk.has(tool);
      if (needsEffect && !ran && !this.#isGiven(id)) this.problem(`${here} never ran, told as ${outcome}`);
    }
  }

  /** A person's answer is the result of the call. */
  #isGiven(callId: string): boolean {
    const responded = new Set(this.#decisions().flatMap(({ id, answer }) => (answer.type === "respond" ? [id] : [])));
    return this.#raised().some((each) => each.callId === callId && each.key === undefined && responded.has(each.id));
  }

  /** Right after a segment its session has the history of the store. Others may have written since. */
  ended(process: Actor, session: Session<unknown>, place: string): void {
    const end = this.facts().find(
      (fact) => placeOf(fact) === place && fact.type === "state" && !["running", "initialized"].includes(fact.state),
    );
    const told = plain(session.messages);
    const at = (seq: number) => plain(this.#history(seq).messages);
    // It may have read some of what followed: answers, and the calls that they let run.
    const seqs = [end?.seq ?? 0, ...this.#lines(THREAD).map(({ seq }) => seq)];
    if (seqs.some((seq) => seq >= (end?.seq ?? 0) && isDeepStrictEqual(told, at(seq)))) return;
    this.problem(`p${process.number} has another history than the store: ${JSON.stringify(told)}`);
  }

  /** The rules at any time for a thread whose agent is alone. */
  checkAlone(): void {
    const now = `${this.facts().length} ${this.effects.length} ${this.given.map(({ taken }) => taken)}`;
    if (now === this.#checked) return;
    this.#checked = now;
    const { messages, waiting } = this.#history();
    const sent = new Set(this.sent.map(({ text }) => text));
    const found = inputsIn([...messages, ...waiting]).filter((text) => !sent.has(text));
    const given = this.given.filter(({ texts }) => texts.length > 0);
    for (const problem of inputProblems(given, found)) this.problem(problem);
    this.checkFacts(THREAD);
    this.#checkResults(messages);
  }

  /** Each command is in the history once, or still waits; a withdrawn one is neither. */
  checkSent(waiting: ReadonlySet<string>): void {
    const history = this.#history();
    const found = inputsIn([...history.messages, ...history.waiting]);
    for (const { text, id, sent, withdrawn } of this.sent) {
      const times = found.filter((each) => each === text).length + (waiting.has(id) ? 1 : 0);
      const most = sent === false || withdrawn === true ? 0 : 1;
      const least = sent === true && withdrawn === false ? 1 : 0;
      if (times > most || times < least)
        this.problem(`${text} (sent ${sent}, withdrawn ${withdrawn}) is ${times} times there`);
    }
  }

  #history(upTo = Number.POSITIVE_INFINITY): Pick<Scope, "messages" | "waiting"> {
    const lines = this.#lines(THREAD).filter((line) => line.seq <= upTo);
    const [scope] = folded(THREAD, lines).scopes.values();
    return scope ?? { messages: [], waiting: [] };
  }

  /** New input may be the answer to a question. */
  #isAnswer(threadId: string, text: string): boolean {
    return this.facts(threadId).some(
      (fact) =>
        fact.type === "request-answered" && fact.answer.type === "respond" && String(fact.answer.value).includes(text),
    );
  }
}

type Scope = ReturnType<typeof folded>["scopes"] extends ReadonlyMap<string, infer S> ? S : never;

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
