// The parts of a life: the processes around one thread in one store, the tree that each of them has, and chance.

import type { BelayError, Message } from "@belay/core";
import type { FakeClock } from "@belay/core/testing";
import type { EffectPlace } from "../simulation/effect.ts";
import { Process } from "../simulation/process.ts";
import { Simulation } from "../simulation/simulation.ts";
import { Witness } from "../simulation/witness.ts";
import { type Dice, diceOf, oneOf } from "./dice.ts";
import type { Places } from "./places.ts";
import type { Scene } from "./scene.ts";
import { growTree } from "./tree.ts";

/** Calls that models may still make in calm. */
const CALM_CALLS = 25;

export class Life extends Simulation {
  readonly dice: Dice;
  readonly witness: Witness;
  readonly forks: string[] = [];
  readonly hooked: boolean;
  readonly ruled: boolean;
  /** Stops roll back text at times. */
  readonly rollsBack: boolean;
  /** No process dies or lets go, and no store fails: readers miss nothing, and nothing that was left behind is lost. */
  readonly peaceful: boolean;
  readonly storeFails: boolean;
  /** Some processes have other code. */
  readonly diverges: boolean;
  /** No person can be asked. */
  readonly unattended: boolean;
  /** People answer many requests at once. */
  readonly keen: boolean;
  /** One in how many points of the kernel has a fault; 0 for none. */
  readonly pressure: number;
  shape = "";
  #heard = false;
  #calmCalls = 0;
  readonly #treeSeed: number;
  readonly #places: Places;

  constructor(seed: number, clock: FakeClock, places: Places) {
    super(clock);
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

  /**
   * Models are called in calm, so that sent inputs are read; code alone never reads them, and may end before the models are
   * called.
   */
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
    const process = new Process({ number, store, clock, witness, rollsBack, turns: true, expects });
    const { root, shape } = growTree(this.#scene(process, other));
    this.shape = shape;
    this.processes.push(process);
    process.begin(root, { maxHot, unattended });
    return process;
  }

  #scene(process: Process, other: boolean): Scene {
    const { witness, hooked, ruled } = this;
    return Object.assign(this.stageOf(process), {
      seed: this.#treeSeed,
      hooked,
      ruled,
      other,
      chance: this.dice,
      spoke: (place: EffectPlace) => witness.spoke(place),
      asked: (agent: string, messages: readonly Message[], prefill: boolean) => {
        if (this.calm) this.#heard = true;
        witness.asked(agent, messages, prefill);
      },
      mayCall: () => {
        if (this.calm) this.#calmCalls += 1;
        return this.#calmCalls <= CALM_CALLS;
      },
    });
  }
}
