// Threads under attack: processes that come, die, freeze and revive around one thread in one store, a model and tools
// that do anything. A witness checks the promises against the events, all the time and at the end.

import {
  agent,
  type Fact,
  type Interrupt,
  type Model,
  memoryStore,
  type Run,
  type RunResult,
  type Session,
} from "@belay/core";
import { isRequest } from "@belay/core/inside";
import { Process } from "../simulation/process.ts";
import { LEASE_MS, placeOf, THREAD } from "../simulation/segment.ts";
import { Simulation } from "../simulation/simulation.ts";
import { ticks } from "../simulation/tick.ts";
import { type Sent, Witness } from "../simulation/witness.ts";
import { type Action, answerTo, type How } from "./action.ts";
import { speak, type Turn } from "./script.ts";
import { askingTools, worldTools } from "./tools.ts";

export interface WorldSetup {
  readonly turns: readonly Turn[];
  readonly prefill: boolean;
  readonly repair: "synthetic" | "drop";
}

/** Codes of an input that was not stored. */
const NOT_SENT = new Set(["INVALID_STATE"]);

export class World extends Simulation {
  readonly #inner = memoryStore({ clock: this.clock });
  readonly witness: Witness;
  readonly #setup: WorldSetup;
  #turn = 0;
  #inputs = 0;
  /** Processes that stood still at some time: they may not have read the writes of others. */
  readonly #frozen = new Set<Process>();

  constructor(setup: WorldSetup) {
    super();
    this.#setup = setup;
    const key = { tenant: "default", threadId: THREAD };
    this.witness = new Witness(() => this.#inner.linesSync?.(key) ?? [], askingTools);
    this.start();
  }

  /** The journal as it is in the store. */
  get facts(): readonly Fact[] {
    return this.witness.facts();
  }

  /** The requests to people. */
  get open(): readonly Interrupt[] {
    return this.witness.requests.open;
  }

  /** The broken promises; empty while all hold. */
  get problems(): string[] {
    return this.witness.problems;
  }

  async act(action: Action): Promise<void> {
    switch (action.do) {
      case "start":
        if (this.alive.length < 3) this.start();
        break;
      case "advance":
        await this.clock.advance(action.ms);
        break;
      case "release-deaf":
        this.letGo();
        break;
      case "settle":
        await ticks(action.ticks);
        break;
      default:
        this.#actOn(action);
    }
    this.witness.checkAlone();
  }

  #actOn(action: Extract<Action, { on: number }>): void {
    const alive = this.alive;
    const process = alive[Math.min(action.on, alive.length - 1)] ?? this.start();
    switch (action.do) {
      case "kill":
        return process.kill();
      case "freeze":
        this.witness.disturbed = true;
        this.#frozen.add(process);
        return process.store.freeze();
      case "thaw":
        return process.store.thaw();
      case "fault":
        this.witness.disturbed = true;
        return process.store.plan(action.operation, ...action.faults);
      case "slow":
        return process.store.always(action.fault);
      case "close":
        return process.close();
      case "answer":
        for (let i = 0; i < action.times; i++) this.#answer(process, action.which, action.how);
        return;
      case "resume-handle":
        return this.resumeBy(process, action.back, this.#texts(action.inputs));
      case "interrupt-anywhere":
        return this.stopAnywhere(process, action.options);
      default: {
        const { session } = process;
        if (session === undefined) return process.open();
        this.#actOnSession(process, session, action);
      }
    }
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
        for (let i = 0; i < action.times; i++) this.stop(process, session, action.options);
        return;
      case "pause":
        return process.own(
          "pause",
          session.pause().then((receipt) => this.witness.checkLate(process, receipt)),
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

  start(): Process {
    const process = new Process({
      number: this.processes.length,
      store: this.#inner,
      clock: this.clock,
      witness: this.witness,
      rollsBack: true,
      // An empty answer that a steer follows is not recorded, and its turn then ends under another number.
      turns: false,
    });
    this.processes.push(process);
    const helper = agent({
      name: "helper",
      model: this.#model(process),
      tools: worldTools(this.stageOf(process)),
      repair: this.#setup.repair,
      graceMs: 100,
      maxTurns: 12,
      settings: { retry: { attempts: 2, delayMs: 0, maxDelayMs: 0 } },
    });
    process.begin(helper);
    return process;
  }

  #model(process: Process): Model {
    const next = () => (this.calm ? [{ text: "done" }] : (this.#setup.turns[this.#turn++] ?? [{ text: "done" }]));
    const { prefill } = this.#setup;
    return {
      id: "world",
      provider: "world",
      prefill,
      stream: (request, options) => {
        this.witness.asked("helper", request.messages, prefill);
        this.witness.askedAlone(process, request.messages);
        return speak(next(), request, options.signal);
      },
    };
  }

  /** Words with blanks around them: they are kept as they are. */
  #texts(count: number): string[] {
    return Array.from({ length: count }, () => ` input ${++this.#inputs}\n`);
  }

  #begin(process: Process, inputs: number, start: (texts: string[]) => Run): void {
    const texts = this.#texts(inputs);
    const ended = (result: RunResult) => {
      const { session } = process;
      if (result.status === "failed" || session === undefined || process.dead || this.#frozen.has(process)) return;
      this.witness.ended(process, session, placeOf(result));
    };
    this.watch(process, "run", () => start(texts), { texts, ended });
  }

  #answer(process: Process, which: number, how: How): void {
    const { open, decided } = this.witness.requests;
    const request = [...decided, ...open].at(-1 - which);
    if (request === undefined) return;
    const id = how === "unknown" ? "nobody-asked" : request.id;
    const vain = how === "unknown" || how === "wrong";
    process.answer(process.runner, id, { ...answerTo(request, how), by: this.person() }, vain);
  }

  #send(process: Process, session: Session<unknown>, how: "steer" | "enqueue"): void {
    const text = `${how} ${this.word()}`;
    const sent: Sent = { text, id: `sent ${text}`, sent: undefined, withdrawn: false };
    this.witness.sent.push(sent);
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
    const sent = this.witness.sent.at(-1 - back);
    if (sent === undefined || sent.withdrawn !== false) return;
    sent.withdrawn = undefined;
    process.own(
      "withdraw",
      session.withdraw(sent.id).then((withdrawn) => {
        // A missing one may still come.
        sent.withdrawn = withdrawn;
      }),
    );
  }

  /** Faults end, everything is stopped, and a new process resumes the thread. */
  async end(): Promise<void> {
    await this.stopAll({ letsGo: false });
    this.checkSettled();
    for (const process of this.processes) {
      if (!process.dead) for (const problem of process.lostText()) this.witness.problem(problem);
      process.kill();
    }
    await this.clock.advance(LEASE_MS + 1);
    this.calm = true;
    const process = this.start();
    await this.#goOn(process);
    this.witness.checkInbox(THREAD, (await process.runner.inbox()).items, this.clock.now());
    this.witness.checkAlone();
    this.witness.checkJournal(THREAD);
    this.witness.checkDeeds(THREAD);
    this.witness.checkSent(await this.#waiting());
  }

  /** The commands that are not part of the thread, by id. */
  async #waiting(): Promise<ReadonlySet<string>> {
    const loaded = await this.#inner.load({ tenant: "default", threadId: THREAD }, Number.MAX_SAFE_INTEGER);
    return new Set(loaded?.commands.map(({ key }) => key));
  }

  async #goOn(process: Process): Promise<void> {
    await ticks(20);
    const { session } = process;
    if (session === undefined) return void this.witness.problem("the thread cannot be opened any more");
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
      return void this.witness.problem(`the thread cannot go on: ${why}`);
    }
    this.witness.problem("the thread asks without end");
  }
}
