// Processes around one thread, people that run, stop and answer it, and a witness that checks the promises. A simulator
// chooses agents, tools and the order of events.

import type { InterruptOptions, Receipt, Run, RunResult, Session } from "@belay/core";
import { threadOf } from "@belay/core/inside";
import { type FakeClock, fakeClock } from "@belay/core/testing";
import type { Stage } from "./effect.ts";
import type { Process } from "./process.ts";
import { LEASE_MS, THREAD } from "./segment.ts";
import { ticks } from "./tick.ts";
import type { Given, Witness } from "./witness.ts";

export abstract class Simulation {
  readonly clock: FakeClock;
  readonly processes: Process[] = [];
  abstract readonly witness: Witness;
  /** Nothing unusual happens any more: all that is left must come to its end. */
  calm = false;
  /** All is stopped soon. */
  ending = false;
  /** Tools and models that heed no signal. */
  #deaf: (() => void)[] = [];
  #words = 0;
  #people = 0;
  /** Stops on their way that roll back text. */
  #rollbacks = 0;

  constructor(clock = fakeClock()) {
    this.clock = clock;
  }

  /** Starts another process and opens the thread in it. */
  abstract start(): Process;

  get alive(): readonly Process[] {
    return this.processes.filter(({ dead }) => !dead);
  }

  /** Returns words that were not said before. */
  word(): string {
    this.#words += 1;
    return `word ${this.#words}`;
  }

  /** Returns a person that has not answered before. */
  person(): string {
    this.#people += 1;
    return `person ${this.#people}`;
  }

  letGo(): void {
    for (const each of this.#deaf.splice(0)) each();
  }

  /** The stage for the tools of that process. */
  protected stageOf(process: Process): Stage {
    const simulation = this;
    return {
      get dead() {
        return process.dead;
      },
      get calm() {
        return simulation.calm;
      },
      now: () => this.clock.now(),
      began: (tool, place, how = {}) => this.witness.began(process, tool, place, how),
      untilLetGo: (letGo) => void this.#deaf.push(letGo),
    };
  }

  /** Begins a segment by that process; `texts` are given with it. */
  watch(
    process: Process,
    what: string,
    begin: () => Run,
    { texts = [], to, ended = () => {} }: WatchOptions = {},
  ): void {
    const given: Given = { texts, process: process.number, to, taken: undefined };
    this.witness.note(`p${process.number} ${what} ${texts.join(", ")}`);
    const begun = () => {
      const run = begin();
      this.witness.given.push(given);
      return run;
    };
    process.watch(what, begun, (result, code) => {
      if (NOT_TAKEN.test(code)) given.taken = false;
      // One that waited for answered calls need not have begun when the thread ended for good.
      else if (!MAY_BE_TAKEN.test(code) && result.status !== "terminated") given.taken = true;
      ended(result);
    });
    const { current } = process;
    if (this.#rollbacks > 0 && current !== undefined) current.rolledBack = true;
  }

  /** Resumes by a handle; `texts` are given with it. */
  resumeBy(process: Process, back: number, texts: readonly string[] = []): void {
    const handle = this.witness.handles.at(-1 - back);
    if (handle === undefined) return;
    this.witness.note(`p${process.number} resume by handle`);
    // It may begin after a later call to the process.
    const given: Given = { texts, process: -1 - this.witness.given.length, taken: undefined };
    this.witness.given.push(given);
    const taken = (refusal: string | undefined) => {
      if (refusal === undefined) given.taken = true;
      else if (!MAY_BE_TAKEN.test(refusal)) given.taken = false;
    };
    process.resumeBy(handle, texts, taken, ({ status }) => {
      // One that waited for answered calls need not have begun when the thread ended for good.
      if (status === "terminated") given.taken = undefined;
      if (status !== "failed") this.witness.wentOn(handle);
    });
  }

  /** Ids under which a session was stopped. */
  readonly #stopIds = new Set<string>();

  /** Stops by the session of that process. */
  stop(process: Process, session: Session<unknown>, options: InterruptOptions): void {
    const { current, begun } = process;
    const asked = session.interrupt(options);
    const isNow = (options.mode ?? "now") === "now" || options.force === true;
    // The same id again has the first outcome (V2): it stops nothing.
    const isRepeated = options.id !== undefined && this.#stopIds.has(options.id);
    if (options.id !== undefined) this.#stopIds.add(options.id);
    if (current !== undefined && isNow && !isRepeated) current.stopping = true;
    const told = (receipt: Receipt) => {
      const { run } = this.witness.state();
      // A stop under an id that was used before gets the receipt of the first one. A receipt does not name calls that began
      // after the stop, also not those of a run that a queued input has begun since.
      const isOfIt = options.id === undefined && process.begun === begun && run?.id === receipt.runId;
      if (isOfIt) this.witness.checkLate(process, receipt);
      if (process.dead || !receipt.accepted || session.state === "running" || process.session !== session) return;
      if (run?.id !== receipt.runId || run?.segment !== receipt.segment) return;
      this.witness.checkReceipt(THREAD, receipt, options.requests === "keep");
      this.witness.checkLate(process, receipt);
    };
    process.own("interrupt", asked.then(told));
    this.#rollBack(asked, options);
  }

  /** Stops by the runner, whichever process has the thread. */
  stopAnywhere(process: Process, options: InterruptOptions): void {
    const asked = process.runner.interrupt(THREAD, options);
    process.own("runner.interrupt", asked);
    this.#rollBack(asked, options);
  }

  #rollBack(asked: Promise<unknown>, options: InterruptOptions): void {
    if (!options.rollbackPartial) return;
    // It may reach the process that has the thread, or has it next.
    for (const { current } of this.processes) if (current !== undefined) current.rolledBack = true;
    this.#rollbacks += 1;
    const over = () => {
      this.#rollbacks -= 1;
    };
    asked.then(over, over);
  }

  /** Ends the faults and stops everything. No run may continue, and no call may wait without end. */
  async stopAll({ letsGo, until = () => true }: LastStop): Promise<void> {
    const { clock, witness } = this;
    witness.note("all is stopped");
    this.ending = true;
    for (const { store } of this.alive) {
      store.thaw();
      store.calm();
    }
    for (let round = 0; round < 5 || (round < 30 && !until()); round++) {
      for (const process of this.alive) {
        if (process.session === undefined) process.open();
        else this.stop(process, process.session, { force: true });
      }
      await ticks(40);
      if (letsGo) this.letGo();
      // In all longer than a lease: a sender that waits for a dead owner waits for that.
      await clock.advance(300);
    }
    await ticks(120);
    await clock.advance(2 * LEASE_MS);
    await ticks(50);
  }

  /** Reports runs and promises that the last stop has not ended. */
  checkSettled(): void {
    for (const { number, session, current, pending } of this.alive) {
      if (current !== undefined || (session?.state === "running" && threadOf(session).opening !== undefined)) {
        this.witness.problem(`p${number}: a stop does not end its run`);
      }
      for (const what of pending.values()) this.witness.problem(`p${number}: ${what} never settles`);
    }
    this.witness.checkFacts(THREAD);
  }
}

interface WatchOptions {
  readonly texts?: readonly string[];
  /** An agent inside that the words are for. */
  readonly to?: string | undefined;
  readonly ended?: (result: RunResult) => void;
}

interface LastStop {
  /** Calls that ignore their signal are released in the meantime. */
  readonly letsGo: boolean;
  /** Waits longer, within bounds, until this holds. */
  readonly until?: () => boolean;
}

/** Codes by which words given with a run are refused. */
const NOT_TAKEN =
  /^(ALREADY_RUNNING|THREAD_BUSY|TOKEN_SPENT|TOKEN_UNKNOWN|INVALID_STATE|NEED_RESUME|OPTION_INVALID|ANSWER_)/;
/** Codes that leave it open whether they were. */
const MAY_BE_TAKEN = /^(STORE_|FENCED$|SESSION_CLOSED$|RUNNER_CLOSED$|\?$)/;
