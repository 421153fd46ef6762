// The stops of an attack: each stop, the appends and model requests of the process after it, and the receipt of its caller.
// Compared with one another, and with the journal.
//
// A process decides an append before it sends it: the append on its way when a stop comes does not count. A process
// reads a stop from elsewhere with the answer to the first append after it, at the latest; so it has read the stop before
// it makes the second.

import { errorText } from "../error.ts";
import type { Fact, StateEvent } from "../event.ts";
import type { Receipt } from "../runner/decide/ending.ts";
import type { Append, Store } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";

export type StopMode = "now" | "after-model" | "after-tools" | "elsewhere";

interface Asked {
  readonly mode: StopMode;
  /** The append that was made last before it. */
  before: Append | undefined;
  /** From elsewhere: the store has it. */
  sent: boolean;
  /** From elsewhere: nothing ran when it looked. */
  atRest: boolean;
  /** Appends that were made since, up to the one that lets go of the thread. */
  readonly since: Append[];
  /** Numbers of requests to a model since then that must not be. */
  readonly requests: number[];
  /** A model call has failed, and is tried again: a try more of a call that had begun is no other call. */
  retried: boolean;
  receipt: Receipt | "none" | undefined;
}

export class AskedStops {
  readonly #asked: Asked[] = [];
  readonly #problems: string[] = [];
  #last: Append | undefined;
  #requests = 0;
  /** A model call has failed, and nothing was asked since. */
  #failed = false;

  /** The process under attack sends an append. */
  appending(append: Append): void {
    this.#last = append;
    for (const asked of this.#open) {
      const known = asked.mode !== "elsewhere" || asked.sent;
      const over = asked.since.some(({ release }) => release);
      if (known && !over && append !== asked.before && !asked.since.includes(append)) asked.since.push(append);
    }
  }

  /** The append is about to be sent: its facts were decided before the present event. */
  made(append: Append): void {
    this.#last = append;
  }

  /** A model is asked. */
  requested(): number {
    this.#requests += 1;
    this.#failed = false;
    for (const asked of this.#open) {
      if (isTooLate(asked)) asked.requests.push(this.#requests);
    }
    return this.#requests;
  }

  /** A model call failed. */
  failed(): void {
    this.#failed = true;
    for (const asked of this.#open) asked.retried = true;
  }

  /** Appends during the call of `stop` count as made after it. */
  ask(mode: "now" | "after-model" | "after-tools", stop: () => Promise<Receipt>): void {
    this.#follow(this.#begin(mode), stop());
  }

  /** `stop` asks for it, by a process that has this store. */
  askElsewhere(store: Store, stop: (store: Store) => Promise<Receipt>): void {
    const asked = this.#begin("elsewhere");
    const observed = wrapStore(store, {
      async load(key, after) {
        const loaded = await store.load(key, after);
        const { lease, state } = loaded?.row ?? {};
        if (lease === undefined || (state !== "running" && state !== "paused")) asked.atRest = true;
        return loaded;
      },
      send: async (key, command) => {
        const sent = await store.send(key, command);
        if (command.kind === "stop") {
          asked.sent = true;
          asked.before = this.#last;
        }
        return sent;
      },
    });
    this.#follow(asked, stop(observed));
  }

  get #open(): readonly Asked[] {
    return this.#asked.filter(({ receipt }) => receipt === undefined);
  }

  #begin(mode: StopMode): Asked {
    const asked: Asked = {
      mode,
      before: this.#last,
      sent: false,
      atRest: false,
      since: [],
      requests: [],
      retried: this.#failed,
      receipt: undefined,
    };
    this.#asked.push(asked);
    return asked;
  }

  #follow(asked: Asked, receipt: Promise<Receipt>): void {
    const told = (how: Receipt | "none") => {
      asked.receipt = how;
    };
    void receipt.then(told, (error) => {
      told("none");
      // There was no thread yet.
      const early = asked.mode === "elsewhere" && (error as { code?: unknown }).code === "THREAD_UNKNOWN";
      if (!early) this.#problems.push(`${nameOf(asked)} was refused: ${errorText(error)}`);
    });
  }

  get isSettled(): boolean {
    return this.#open.length === 0;
  }

  problems(facts: readonly Fact[]): string[] {
    return [...this.#problems, ...this.#asked.flatMap((asked) => problemsOf(asked, facts))];
  }
}

/** For another request to a model. */
function isTooLate({ mode, since, retried }: Asked): boolean {
  switch (mode) {
    case "now":
      return true;
    case "elsewhere":
      // Its sender may have the receipt later than another resume begins.
      return since.length > 1 && !since.some(({ release }) => release);
    case "after-tools":
      return !retried;
    case "after-model":
      return false;
    default:
      return mode satisfies never;
  }
}

/**
 * True if a resume took the lease before any other append that followed the stop, and the stop was not accepted. The stop was
 * for the segment before that resume (S2), so the resume may call the model.
 */
function isPassed({ mode, since: [first], receipt }: Asked): boolean {
  if (mode !== "elsewhere" || receipt === undefined || receipt === "none" || receipt.accepted) return false;
  return first !== undefined && "take" in first.writer && first.state === "running";
}

function nameOf({ mode }: Asked): string {
  if (mode === "now") return "the stop";
  return mode === "elsewhere" ? "the stop from elsewhere" : `the stop ${mode}`;
}

function problemsOf(asked: Asked, facts: readonly Fact[]): string[] {
  const { mode, receipt, requests, sent, atRest } = asked;
  const stop = nameOf(asked);
  const problems = isPassed(asked) ? [] : requests.map((n) => `request ${n} was made after ${stop}`);
  if (receipt === undefined) return [...problems, "a stop got no receipt"];
  if (receipt === "none") return problems;
  const { accepted, runId, segment } = receipt;
  if (mode === "elsewhere" && !sent && !atRest && !accepted) return [...problems, `${stop} was not sent, and it ran`];
  const [heard] = mode === "elsewhere" ? asked.since.slice(1) : asked.since;
  if (heard === undefined) return problems;
  const stretch = facts.filter((fact) => fact.runId === runId && fact.segment === segment && fact.seq > heard.expect);
  const states = stretch.filter((fact): fact is StateEvent => fact.type === "state");
  // The thread was at rest, and an answer let a call run: a resume after a stop is deliberate.
  if (asked.before?.release && !states.some(({ state }) => state === "running")) return problems;
  const end = states.find(({ state }) => state !== "running" && state !== "initialized");
  for (const fact of stretch) {
    if (fact.seq >= (end?.seq ?? Number.POSITIVE_INFINITY)) break;
    if (fact.type === "tool-start" && mode !== "after-tools")
      problems.push(`call ${fact.callId} started after ${stop}`);
  }
  // A run that ends before it can stop was not stopped; a run that pauses was.
  if (!accepted && end?.state === "paused") problems.push(`${stop} is not accepted, and it paused after it`);
  return problems;
}
