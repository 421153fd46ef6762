// What code gave that was too large to be recorded. Invariants:
// 1. Code that caught it, and did something after that, went this way because of it: the refusal is on record before what
//    came after, and is the same when the code begins again, whatever the bound is by then (P12, Q2).
// 2. Of code that failed by it nothing is on record: under a larger bound it goes on.

import { type BelayError, belayError, type ErrorRecord, errorFromRecord, errorRecord } from "../error.ts";
import { bytesOver, type Json } from "../json.ts";

/** As it is recorded: a step that threw. */
export interface Refusal {
  readonly key: string;
  readonly error: ErrorRecord;
}

export class Refusals {
  /** How often something was refused under a name. What is taken under it comes after that, and once. */
  readonly #count = new Map<string, number>();
  #unrecorded: Refusal[] = [];

  /** Refuses `value` where `recorded` tells that it was refused, or where it takes more than `most` bytes. */
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

  /** Those that are not on record: whoever takes them records them. */
  take(): readonly Refusal[] {
    const taken = this.#unrecorded;
    if (taken.length > 0) this.#unrecorded = [];
    return taken;
  }
}
