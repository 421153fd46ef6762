// From lines to a state. Once another run begins, only the messages of a past run stay, and most runs of a long thread are one
// question and its answer: those two are cut out of the texts of their lines, without parsing the facts around them. The
// result equals that of `reduce` over all facts.

import type { Message } from "../message.ts";
import { damageAt, decode, type Line, messageOf, type WrittenMessage } from "./codec.ts";
import { addAnswer, addInput } from "./history.ts";
import { titleOf } from "./naming.ts";
import { reduce } from "./reduce.ts";
import { newThread, type Scope, type ThreadState } from "./state.ts";

/** Folds `lines`, which follow what `state` has already read. */
export function fold(state: ThreadState, lines: readonly Line[]): void {
  const exchanges = new Exchanges(state, lines);
  for (let i = 0; i < lines.length; ) {
    if (exchanges.take(i)) {
      i += 2;
      continue;
    }
    foldLine(state, lines[i]!);
    i += 1;
  }
}

/** Returns the fold of these lines, which are a thread from its beginning on. */
export function folded(threadId: string, lines: readonly Line[]): ThreadState {
  const state = newThread(threadId);
  fold(state, lines);
  return state;
}

/** Folds fact by fact. An impossible fact is JOURNAL_CORRUPT, with its seq: also a move that no thread makes. */
export function foldLine(state: ThreadState, line: Line): void {
  const facts = decode(state.threadId, line);
  try {
    for (const fact of facts) reduce(state, fact);
  } catch (error) {
    throw damageAt(state.threadId, state.head + 1, error);
  }
}

// A question and its answer as `encode` writes them, around the run's id, the agent's name and the two texts. A line that
// differs in anything, also in the order of its keys, does not match. Each search in a text costs as much as a message: there
// are few of them.
const RUN = '{"v":1,"r":"';
const BEGINNING = '"e":["initialized","start","running",';
const ASKED = '{"m":';
const AT = ',"at":';
const SAID = '"e":[{"m":';
const USAGE = '"usage":';
const SAID_END = '},{"run":"completed"},"completed"]}';

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const BRACKET = 93;
const BRACE = 125;

/** The line that begins a run with nothing to be said of it. */
interface Beginning {
  readonly index: number;
  readonly runId: string;
  /** The place of the run's input. */
  readonly inputAt: number;
}

/** The fields of an answer behind its text. */
type About = Omit<WrittenMessage, "m">;

class Exchanges {
  readonly #state: ThreadState;
  readonly #lines: readonly Line[];
  /** From the run's id to its beginning, and to its answer: the same in all runs of the thread's agent. */
  #beginning = "";
  #said = "";
  #idLength = 0;
  /** The last examined line: after a matched exchange, the next begins there. */
  #known: Beginning | undefined;
  /** These fields of the last answer, before its usage: the next one mostly has the same. */
  #aboutText = "";
  #about: About = {};

  constructor(state: ThreadState, lines: readonly Line[]) {
    this.#state = state;
    this.#lines = lines;
  }

  /**
   * Adds the messages of the line at `i` and the next one; returns false, and does nothing, unless they are a question, its
   * answer, and the beginning of another run.
   */
  take(i: number): boolean {
    const question = this.#lines[i]!;
    const answer = this.#lines[i + 1];
    const scope = this.#scope();
    if (scope === undefined || answer === undefined || question.count !== 4 || answer.count !== 3) return false;
    if (question.seq !== this.#state.head + 1 || answer.seq !== question.seq + 4) return false;
    const begun = this.#beginningAt(i);
    const later = begun && this.#beginningAt(i + 2);
    // Nothing of the runs before it is left when that one has begun.
    if (later === undefined || later.runId === begun!.runId || later.runId === this.#state.run?.id) return false;
    const { runId, inputAt } = begun!;
    const asked = askedIn(question.body, inputAt);
    const said = asked && this.#saidIn(answer.body, runId);
    if (said === undefined) return false;
    const input = this.#message(question, runId, asked!);
    if (input.origin === "person") this.#state.beginning ??= titleOf(input);
    addInput(scope, input);
    addAnswer(scope, this.#message(answer, runId, said), said.t!);
    this.#state.head = answer.seq + 2;
    return true;
  }

  /** The scope of the agent, if a run of it has just ended. */
  #scope(): Scope | undefined {
    const { agent, state, scopes } = this.#state;
    if (agent === undefined || state !== "completed") return undefined;
    if (this.#beginning === "") {
      const name = JSON.stringify(agent);
      this.#beginning = `","n":${name},${BEGINNING}`;
      this.#said = `","n":${name},${SAID}`;
    }
    const scope = scopes.get(agent);
    return scope?.calls.length === 0 ? scope : undefined;
  }

  #beginningAt(index: number): Beginning | undefined {
    if (this.#known?.index === index) return this.#known;
    const body = this.#lines[index]?.body;
    if (body === undefined || !body.startsWith(RUN)) return undefined;
    let end = RUN.length + this.#idLength;
    if (!body.startsWith(this.#beginning, end)) {
      end = body.indexOf('"', RUN.length);
      if (!body.startsWith(this.#beginning, end)) return undefined;
      this.#idLength = end - RUN.length;
    }
    // Parsed: a slice would keep the whole page that it is of. One that is shorter then had more in it than an id.
    const runId = jsonOf(body.slice(RUN.length - 1, end + 1));
    if (typeof runId !== "string" || runId.length !== this.#idLength || !endsIn(body, BRACKET, BRACE)) return undefined;
    this.#known = { index, runId, inputAt: end + this.#beginning.length };
    return this.#known;
  }

  #saidIn(body: string, runId: string): WrittenMessage | undefined {
    const end = RUN.length + runId.length;
    if (!body.startsWith(RUN) || !body.startsWith(runId, RUN.length) || !body.startsWith(this.#said, end))
      return undefined;
    const start = end + this.#said.length;
    const behind = textEnd(body, start);
    if (body.charCodeAt(behind) !== COMMA || !body.endsWith(SAID_END)) return undefined;
    const m = jsonOf(body.slice(start, behind));
    const about = typeof m === "string" ? this.#aboutIn(body, behind + 1, body.length - SAID_END.length) : undefined;
    if (about === undefined) return undefined;
    return { m: m as string, ...about };
  }

  #aboutIn(body: string, start: number, end: number): About | undefined {
    const usageAt = body.charCodeAt(end - 1) === BRACKET ? body.indexOf(USAGE, start) : -1;
    const known = usageAt === -1 ? "" : body.slice(start, usageAt);
    if (known !== "" && known === this.#aboutText) {
      const usage = jsonOf(body.slice(usageAt + USAGE.length, end));
      return Array.isArray(usage) ? { t: this.#about.t!, model: this.#about.model!, usage } : undefined;
    }
    const about = jsonOf(`{${body.slice(start, end)}}`);
    if (!isAbout(about)) return undefined;
    // Its time and its finish belong to it alone. Text behind the usage is not part of it.
    const { at, finish, model } = about;
    if (at === undefined && finish === undefined && (model === undefined || typeof model === "string")) {
      this.#aboutText = known;
      this.#about = about;
    }
    return about;
  }

  #message({ seq, at }: Line, runId: string, written: WrittenMessage): Message {
    const { threadId, agent } = this.#state;
    const [agentName, runPath] = [agent!, agent!];
    return messageOf(written, { seq, at, threadId, runId, segment: 1, attempt: 1, agentName, runPath }, 0);
  }
}

/** A text, and its time if that is not the time of the line, up to the end of it. */
function askedIn(body: string, inputAt: number): WrittenMessage | undefined {
  const start = inputAt + ASKED.length;
  if (!body.startsWith(ASKED, inputAt) || body.charCodeAt(body.length - 3) !== BRACE) return undefined;
  const end = textEnd(body, start);
  const m = end === -1 ? undefined : jsonOf(body.slice(start, end));
  if (typeof m !== "string") return undefined;
  if (end + 3 === body.length) return { m };
  const at = body.startsWith(AT, end) ? jsonOf(body.slice(end + AT.length, -3)) : undefined;
  return typeof at === "number" ? { m, at } : undefined;
}

function endsIn(body: string, last: number, very: number): boolean {
  return body.charCodeAt(body.length - 2) === last && body.charCodeAt(body.length - 1) === very;
}

/** Behind the text in quotes that begins at `start`; -1 where none does. */
function textEnd(body: string, start: number): number {
  if (body.charCodeAt(start) !== QUOTE) return -1;
  let end = body.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(body, end)) end = body.indexOf('"', end + 1);
  return end === -1 ? -1 : end + 1;
}

function isEscaped(body: string, at: number): boolean {
  let before = at;
  while (body.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 1;
}

/** Returns undefined if it is no JSON: the reader of the whole line reports the fault. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ABOUT = new Set(["t", "at", "model", "usage", "finish"]);

/** Matches an answer without further fields. Its usage equals that of its run: that end does not repeat it. */
function isAbout(about: unknown): about is About {
  if (typeof about !== "object" || about === null) return false;
  const { t, usage } = about as About;
  if (typeof t !== "number" || t === 0 || usage === undefined) return false;
  for (const key in about) if (!ABOUT.has(key)) return false;
  return true;
}
