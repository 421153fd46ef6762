// Values of code that were too large to be recorded. Invariants:
// 1. Code that caught the refusal and did something after it took this path because of it: the refusal is on record before
//    the next step, and is the same when the code begins again, under any later bound (P12, Q2).
// 2. Code that failed by a refusal leaves no record of it: under a larger bound it continues.

import { type BelayError, belayError, type ErrorRecord, errorFromRecord, errorRecord } from "../error.ts";
import { bytesOver, type Json } from "../json.ts";

/** As it is recorded: a step that threw. */
export interface Refusal {
  readonly key: string;
  readonly error: ErrorRecord;
}

export class Refusals {
  /** The number of refusals under a name. The value that is accepted under it comes after them, and once. */
  readonly #count = new Map<string, number>();
  #unrecorded: Refusal[] = [];

  /** Refuses `value` if `recorded` has its refusal, or if it takes more than `most` bytes. */
  judge(
    name: string,
    value: Json,
    what: string,
    most: number,
    recorded: (key: string) => ErrorRecord | undefined,
  ): BelayError | undefined {
    const count = (this.#count.get(name) ?? 0) + 1;
    const key = `${name} refused#${count}`;
    const known = recorded(key);
    const bytes = known === undefined ? bytesOver(value, most) : undefined;
    if (known === undefined && bytes === undefined) return undefined;
    this.#count.set(name, count);
    if (bytes === undefined) return errorFromRecord(known);
    const error = belayError("TOO_LARGE", { what, bytes, most });
    this.#unrecorded.push({ key, error: errorRecord(error) });
    return error;
  }

  /** Returns the refusals that are not on record; the caller records them. */
  take(): readonly Refusal[] {
    const taken = this.#unrecorded;
    if (taken.length > 0) this.#unrecorded = [];
    return taken;
  }
}
