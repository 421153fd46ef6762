// The real effects of the tools of a scenario, in their order.

import type { Fact } from "../event.ts";
import type { Store, ThreadKey } from "../store/store.ts";
import { type Effect, effectProblems, runAt } from "./request-checks.ts";
import type { EffectOptions } from "./scenario.ts";

export class Effects {
  readonly #store: Store;
  readonly #key: ThreadKey;
  readonly #all: Effect[] = [];

  constructor(store: Store, key: ThreadKey) {
    this.#store = store;
    this.#key = key;
  }

  happened(name: string, { after }: EffectOptions = {}): void {
    const effect: Effect = { name, after };
    this.#all.push(effect);
    void this.#store.load(this.#key, Number.MAX_SAFE_INTEGER).then((loaded) => {
      if (loaded !== undefined) effect.head = loaded.row.head;
    });
  }

  /** `stoodStill`: a process stood still, and may compute its present step once more when it wakes. */
  problems(facts: readonly Fact[], stoodStill: boolean, repeatable: (name: string) => boolean): string[] {
    const problems = effectProblems(
      facts,
      this.#all.filter(({ name }) => !stoodStill || !repeatable(name)),
    );
    // An address is unique in its run only.
    const seen = new Set<string>();
    for (const { name, head } of this.#all) {
      const inRun = JSON.stringify([runAt(facts, head), name]);
      if (seen.has(inRun) && !repeatable(name)) problems.push(`effect ${name} happened twice`);
      seen.add(inRun);
    }
    return problems;
  }
}
