// What a life is made of: the processes around one thread in one store, the tree that each of them has, and chance.

import type { BelayError, Run } from "@belay/core";
import type { FakeClock } from "@belay/core/testing";
import { Process } from "../simulation/process.ts";
import { type Given, Witness } from "../simulation/witness.ts";
import { type Dice, diceOf, oneOf } from "./dice.ts";
import type { Places } from "./places.ts";
import type { Scene } from "./scene.ts";
import { growTree } from "./tree.ts";

/** What models in calm may still call. */
const CALM_CALLS = 25;

export class Life {
  readonly clock: FakeClock;
  readonly dice: Dice;
  readonly witness: Witness;
  readonly processes: Process[] = [];
  readonly forks: string[] = [];
  readonly hooked: boolean;
  readonly ruled: boolean;
  /** Stops take back what was said at times. */
  readonly rollsBack: boolean;
  /** No process dies or lets go, and no store fails: readers miss nothing, and nothing that was left behind is lost. */
  readonly peaceful: boolean;
  readonly storeFails: boolean;
  /** Some processes have other code. */
  readonly diverges: boolean;
  /** Nobody is there to be asked. */
  readonly unattended: boolean;
  /** People answer much of what they are asked at once. */
  readonly keen: boolean;
  /** At one in how many points of the kernel something happens; none where it is 0. */
  readonly pressure: number;
  /** All is stopped soon, and nothing more happens by chance. */
  ending = false;
  shape = "";
  calm = false;
  /** Those that heed nothing. */
  #deaf: (() => void)[] = [];
  #heard = false;
  #words = 0;
  #people = 0;
  #calmCalls = 0;
  readonly #treeSeed: number;
  readonly #places: Places;

  constructor(seed: number, clock: FakeClock, places: Places) {
    this.clock = clock;
    this.dice = diceOf(seed);
    this.#places = places;
    const own = places.connect();
    this.witness = new Witness((threadId) => own.linesSync?.({ tenant: "default", threadId }) ?? []);
    this.#treeSeed = this.dice(1 << 30);
    this.hooked = this.dice(3) === 0;
    this.ruled = this.dice(2) === 0;
    this.rollsBack = this.dice(2) === 0;
    this.peaceful = this.dice(3) === 0;
    this.storeFails = this.dice(3) === 0;
    this.diverges = this.dice(6) === 0;
    this.unattended = this.dice(20) === 0;
    this.keen = this.dice(3) === 0;
    this.pressure = oneOf(this.dice, [0, 60, 30, 15]);
  }

  get alive(): readonly Process[] {
    return this.processes.filter(({ dead }) => !dead);
  }

  /** Models are asked in calm, so that what was sent is heard; code alone never hears it, and may leave before they are. */
  get hears(): boolean {
    return this.#heard;
  }

  start(): Process {
    const { clock, witness, rollsBack } = this;
    const number = this.processes.length;
    const maxHot = this.dice(4) === 0 ? 1 : 100;
    const { unattended, diverges } = this;
    const other = diverges && !this.calm && this.dice(3) === 0;
    const store = this.#places.connect();
    const expects = ({ code, message }: BelayError) =>
      (code === "AGENT_FAILED" && /hook|on purpose/.test(message)) || (code === "REPLAY_DIVERGED" && diverges);
    const process = new Process({ number, store, clock, witness, rollsBack, expects });
    const { root, shape } = growTree(this.#scene(process, other));
    this.shape = shape;
    this.processes.push(process);
    process.begin(root, { maxHot, unattended });
    return process;
  }

  /** Words that nobody has said before. */
  word(): string {
    this.#words += 1;
    return `word ${this.#words}`;
  }

  /** Somebody who has not answered before. */
  person(): string {
    this.#people += 1;
    return `person ${this.#people}`;
  }

  /** Begins a segment by that process; `texts` are given with it. */
  watch(process: Process, what: string, begin: () => Run, texts: readonly string[] = [], to?: string): void {
    const given: Given = { texts, process: process.number, to, taken: undefined };
    this.witness.note(`p${process.number} ${what} ${texts.join(", ")}`);
    const begun = () => {
      const run = begin();
      this.witness.given.push(given);
      return run;
    };
    process.watch(what, begun, ({ status }, code) => {
      if (NOT_TAKEN.has(code)) given.taken = false;
      else if (status !== "failed" && status !== "terminated") given.taken = true;
    });
  }

  letGo(): void {
    for (const each of this.#deaf.splice(0)) each();
  }

  #scene(process: Process, other: boolean): Scene {
    const life = this;
    const { witness, hooked, ruled } = this;
    return {
      seed: this.#treeSeed,
      hooked,
      ruled,
      other,
      get dead() {
        return process.dead;
      },
      get calm() {
        return life.calm;
      },
      now: () => this.clock.now(),
      chance: this.dice,
      began: (tool, place, how = {}) => witness.began(process, tool, place, how),
      untilLetGo: (letGo) => void this.#deaf.push(letGo),
      spoke: (place) => witness.spoke(place),
      asked: (agent, messages, prefill) => {
        if (this.calm) this.#heard = true;
        witness.asked(agent, messages, prefill);
      },
      mayCall: () => {
        if (this.calm) this.#calmCalls += 1;
        return this.#calmCalls <= CALM_CALLS;
      },
    };
  }
}

/** Codes by which words given with a run are refused. */
const NOT_TAKEN = new Set<string>([
  "THREAD_BUSY",
  "TOKEN_SPENT",
  "INVALID_STATE",
  "NEED_RESUME",
  "OPTION_INVALID",
  "ANSWER_AMBIGUOUS",
  "ANSWER_INVALID",
]);
