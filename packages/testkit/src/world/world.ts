// Threads under attack: processes that come, die, freeze and revive around one thread in one store, a model and tools
// that do anything. A witness holds what happens against what must hold, all the time and at the end.

import {
  agent,
  type Fact,
  type Interrupt,
  type InterruptOptions,
  type Model,
  memoryStore,
  type Receipt,
  type Run,
  type Session,
} from "@belay/core";
import { isRequest } from "@belay/core/inside";
import { type FakeClock, fakeClock } from "@belay/core/testing";
import { Process } from "../simulation/process.ts";
import { LEASE_MS, placeOf, THREAD } from "../simulation/segment.ts";
import { ticks } from "../simulation/tick.ts";
import { type Given, type Sent, Witness } from "../simulation/witness.ts";
import { type Action, answerTo, type How } from "./action.ts";
import { speak, type Turn } from "./script.ts";
import { askingTools, type ToolHost, worldTools } from "./tools.ts";

export interface WorldSetup {
  readonly turns: readonly Turn[];
  readonly prefill: boolean;
  readonly repair: "synthetic" | "drop";
}

const MAY_BE_TAKEN = new Set(["STORE_FAILED", "STORE_CONFLICT", "FENCED", "SESSION_CLOSED"]);
const NOT_TAKEN = new Set(["THREAD_BUSY", "TOKEN_SPENT", "TOKEN_UNKNOWN", "INVALID_STATE", "NEED_RESUME"]);
/** Codes by which what was to be sent is nowhere. */
const NOT_SENT = new Set(["INVALID_STATE"]);

export class World {
  readonly clock: FakeClock = fakeClock();
  readonly #inner = memoryStore({ clock: this.clock });
  readonly #witness: Witness;
  readonly #setup: WorldSetup;
  readonly #processes: Process[] = [];
  #turn = 0;
  #words = 0;
  #people = 0;
  /** Stops on their way that take back what was said. */
  #rollbacks = 0;
  /** Processes that stood still at some time: they may not have read what others wrote. */
  readonly #frozen = new Set<Process>();
  #calm = false;
  #deaf: (() => void)[] = [];

  constructor(setup: WorldSetup) {
    this.#setup = setup;
    const key = { tenant: "default", threadId: THREAD };
    this.#witness = new Witness(() => this.#inner.linesSync?.(key) ?? [], askingTools);
    this.#start();
  }

  /** The journal as it is in the store. */
  get facts(): readonly Fact[] {
    return this.#witness.facts();
  }

  /** What people are asked for. */
  get open(): readonly Interrupt[] {
    return this.#witness.requests.open;
  }

  /** What does not fit; empty while all promises hold. */
  get problems(): string[] {
    return this.#witness.problems;
  }

  async act(action: Action): Promise<void> {
    switch (action.do) {
      case "start":
        if (this.#alive.length < 3) this.#start();
        break;
      case "advance":
        await this.clock.advance(action.ms);
        break;
      case "release-deaf":
        for (const release of this.#deaf.splice(0)) release();
        break;
      case "settle":
        await ticks(action.ticks);
        break;
      default:
        this.#actOn(action);
    }
    this.#witness.checkAlone();
  }

  #actOn(action: Extract<Action, { on: number }>): void {
    const alive = this.#alive;
    const process = alive[Math.min(action.on, alive.length - 1)] ?? this.#start();
    switch (action.do) {
      case "kill":
        return process.kill();
      case "freeze":
        this.#witness.disturbed = true;
        this.#frozen.add(process);
        return process.store.freeze();
      case "thaw":
        return process.store.thaw();
      case "fault":
        this.#witness.disturbed = true;
        return process.store.plan(action.operation, ...action.faults);
      case "slow":
        return process.store.always(action.fault);
      case "close":
        return process.close();
      case "answer":
        for (let i = 0; i < action.times; i++) this.#answer(process, action.which, action.how);
        return;
      case "resume-handle":
        return this.#resumeHandle(process, action.back, action.inputs);
      case "interrupt-anywhere":
        return this.#interruptAnywhere(process, action.options);
      default: {
        const { session } = process;
        if (session === undefined) return process.open();
        this.#actOnSession(process, session, action);
      }
    }
  }

  get #alive(): readonly Process[] {
    return this.#processes.filter(({ dead }) => !dead);
  }

  #actOnSession(process: Process, session: Session<unknown>, action: Extract<Action, { on: number }>): void {
    switch (action.do) {
      case "run":
        return this.#begin(process, Math.max(1, action.inputs), (texts) => session.run(texts));
      case "resume":
        return this.#begin(process, action.inputs, (input) => session.resume({ input }));
      case "go": {
        const { mode } = action;
        if (session.state === "running" || session.state === "terminated") return;
        if (session.state !== "paused" && session.state !== "error") {
          return this.#begin(process, Math.max(1, action.inputs), (texts) => session.run(texts));
        }
        return this.#begin(process, action.inputs, (input) => session.resume({ input, ...(mode && { mode }) }));
      }
      case "interrupt":
        for (let i = 0; i < action.times; i++) this.#interrupt(process, session, action.options);
        return;
      case "pause":
        return process.own(
          "pause",
          session.pause().then((receipt) => this.#witness.checkLate(process, receipt)),
        );
      case "steer":
      case "enqueue":
        return this.#send(process, session, action.do);
      case "withdraw":
        return this.#withdraw(process, session, action.back);
      case "terminate":
        if (process.current !== undefined) process.current.stopping = true;
        return process.own("terminate", session.terminate());
      default:
        return;
    }
  }

  #start(): Process {
    const process = new Process({
      number: this.#processes.length,
      store: this.#inner,
      clock: this.clock,
      witness: this.#witness,
      rollsBack: true,
    });
    this.#processes.push(process);
    const helper = agent({
      name: "helper",
      model: this.#model(process),
      tools: worldTools(this.#toolHost(process)),
      repair: this.#setup.repair,
      graceMs: 100,
      maxTurns: 12,
      settings: { retry: { attempts: 2, delayMs: 0, maxDelayMs: 0 } },
    });
    process.begin(helper);
    return process;
  }

  #toolHost(process: Process): ToolHost {
    const self = this;
    return {
      get dead() {
        return process.dead;
      },
      get calm() {
        return self.#calm;
      },
      now: () => this.clock.now(),
      began: (tool, place, how) => this.#witness.began(process, tool, place, how),
      released: () => new Promise<void>((resolve) => this.#deaf.push(resolve)),
    };
  }

  #model(process: Process): Model {
    const next = () => (this.#calm ? [{ text: "done" }] : (this.#setup.turns[this.#turn++] ?? [{ text: "done" }]));
    const { prefill } = this.#setup;
    return {
      id: "world",
      provider: "world",
      prefill,
      stream: (request, options) => {
        this.#witness.asked("helper", request.messages, prefill);
        this.#witness.askedAlone(process, request.messages);
        return speak(next(), request, options.signal);
      },
    };
  }

  #begin(process: Process, inputs: number, start: (texts: string[]) => Run): void {
    const texts = Array.from({ length: inputs }, () => ` input ${++this.#words}\n`);
    const given: Given = { texts, process: process.number, taken: undefined };
    const begin = () => {
      const run = start(texts);
      this.#witness.given.push(given);
      return run;
    };
    process.watch("run", begin, (result, code) => {
      if (NOT_TAKEN.has(code)) given.taken = false;
      // One that waited for answered calls need not have begun when the thread ended for good.
      else if (!MAY_BE_TAKEN.has(code) && result.status !== "terminated") given.taken = true;
      const { session } = process;
      if (result.status === "failed" || session === undefined || process.dead || this.#frozen.has(process)) return;
      this.#witness.ended(process, session, placeOf(result));
    });
    if (this.#rollbacks > 0 && process.current !== undefined) process.current.rolledBack = true;
  }

  #resumeHandle(process: Process, back: number, inputs: number): void {
    const handle = this.#witness.handles.at(-1 - back);
    if (handle === undefined) return;
    const texts = Array.from({ length: inputs }, () => `input ${++this.#words}`);
    const given: Given = { texts, process: -1 - this.#witness.given.length, taken: undefined };
    this.#witness.given.push(given);
    const taken = (refusal: string | undefined) => {
      if (refusal === undefined) given.taken = true;
      else if (!MAY_BE_TAKEN.has(refusal)) given.taken = false;
    };
    process.resumeBy(handle, texts, taken, ({ status }) => {
      // One that waited for answered calls need not have begun when the thread ended for good.
      if (status === "terminated") given.taken = undefined;
      if (status !== "failed") this.#witness.wentOn(handle);
    });
  }

  #answer(process: Process, which: number, how: How): void {
    const { open, decided } = this.#witness.requests;
    const request = [...decided, ...open].at(-1 - which);
    if (request === undefined) return;
    const id = how === "unknown" ? "nobody-asked" : request.id;
    const vain = how === "unknown" || how === "wrong";
    process.answer(process.runner, id, { ...answerTo(request, how), by: `person ${++this.#people}` }, vain);
  }

  #send(process: Process, session: Session<unknown>, how: "steer" | "enqueue"): void {
    const text = `${how} ${++this.#words}`;
    const sent: Sent = { text, id: `sent ${this.#words}`, sent: undefined, withdrawn: false };
    this.#witness.sent.push(sent);
    const asked = session[how](text, { id: sent.id });
    process.own(
      how,
      asked.then(
        () => {
          sent.sent = true;
        },
        (error) => {
          if (NOT_SENT.has(process.refusal(how, error))) sent.sent = false;
        },
      ),
    );
  }

  #withdraw(process: Process, session: Session<unknown>, back: number): void {
    const sent = this.#witness.sent.at(-1 - back);
    if (sent === undefined || sent.withdrawn !== false) return;
    sent.withdrawn = undefined;
    process.own(
      "withdraw",
      session.withdraw(sent.id).then((withdrawn) => {
        // Where it was not there yet it may still come.
        sent.withdrawn = withdrawn;
      }),
    );
  }

  #interrupt(process: Process, session: Session<unknown>, options: InterruptOptions): void {
    const { current } = process;
    const asked = session.interrupt(options);
    if (current !== undefined) {
      const now = (options.mode ?? "now") === "now" || options.force === true;
      if (now) current.stopping = true;
    }
    const { begun } = process;
    // Of a pause, it tells nothing of what was begun after it.
    const told = (receipt: Receipt) => process.begun > begun || this.#witness.checkLate(process, receipt);
    process.own("interrupt", asked.then(told));
    this.#rollBack(asked, options);
  }

  #interruptAnywhere(process: Process, options: InterruptOptions): void {
    const asked = process.runner.interrupt(THREAD, options);
    process.own("runner.interrupt", asked);
    this.#rollBack(asked, options);
  }

  #rollBack(asked: Promise<unknown>, options: InterruptOptions): void {
    if (!options.rollbackPartial) return;
    // It may reach whoever has the thread, or has it next.
    for (const { current: any } of this.#processes) if (any !== undefined) any.rolledBack = true;
    this.#rollbacks += 1;
    const over = () => {
      this.#rollbacks -= 1;
    };
    asked.then(over, over);
  }

  /** Faults end, everything is stopped, and a new process goes on with the thread. */
  async end(): Promise<void> {
    await this.#stopAll();
    for (const process of this.#processes) {
      if (!process.dead) for (const problem of process.lostText()) this.#witness.problem(problem);
      process.kill();
    }
    await this.clock.advance(LEASE_MS + 1);
    this.#calm = true;
    await this.#goOn(this.#start());
    this.#witness.checkAlone();
    this.#witness.checkJournal(THREAD);
    this.#witness.checkDeeds(THREAD);
    this.#witness.checkSent(await this.#waiting());
  }

  /** What was sent and is not part of the thread, by its id. */
  async #waiting(): Promise<ReadonlySet<string>> {
    const loaded = await this.#inner.load({ tenant: "default", threadId: THREAD }, Number.MAX_SAFE_INTEGER);
    return new Set(loaded?.commands.map(({ key }) => key));
  }

  async #stopAll(): Promise<void> {
    for (const process of this.#alive) {
      process.store.thaw();
      process.store.calm();
    }
    for (let round = 0; round < 5; round++) {
      for (const process of this.#alive) {
        if (process.session === undefined) process.open();
        else this.#interrupt(process, process.session, { force: true });
      }
      await ticks(30);
      // In all longer than a lease: whoever waits for an owner that is gone waits for that.
      await this.clock.advance(300);
    }
    for (const { number, current, pending } of this.#alive) {
      if (current !== undefined) this.#witness.problem(`p${number}: a stop does not end its run`);
      for (const what of pending.values()) this.#witness.problem(`p${number}: ${what} never settles`);
    }
  }

  async #goOn(process: Process): Promise<void> {
    await ticks(20);
    const { session } = process;
    if (session === undefined) return void this.#witness.problem("the thread cannot be opened any more");
    if (session.state === "terminated") return;
    for (let stretch = 0; stretch < 6; stretch++) {
      const goesOn = session.state === "paused";
      const open = session.interrupts.filter(isRequest);
      const answers = Object.fromEntries(open.map((request) => [request.id, answerTo(request, "yes")]));
      this.#begin(process, goesOn ? 0 : 1, (texts) => (goesOn ? session.resume({ answers }) : session.run(texts)));
      await ticks(60);
      const result = process.watched[stretch]?.result;
      if (result?.status === "completed") return;
      if (result?.status === "interrupted" && result.interruptType === "tool_interrupt") continue;
      const why = result?.status === "failed" ? result.error.message : (result?.status ?? "nothing happens");
      return void this.#witness.problem(`the thread cannot go on: ${why}`);
    }
    this.#witness.problem("the thread asks without end");
  }
}
