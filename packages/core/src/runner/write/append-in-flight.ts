import type { Clock } from "../../clock.ts";
import { BelayError } from "../../error.ts";
import { point } from "../../point.ts";
import type { Append, Appended, Store, ThreadKey } from "../../store/store.ts";

const RETRY_AFTER_MS = [10, 100];

/**
 * Sends one append at a time to the store. An append whose answer was lost is sent again under the same id, so a store that
 * has it already does not write it twice.
 *
 * It calls back and keeps the append in fields: appends are most of the cost of a turn, and promises for each step were
 * most of the cost of an append.
 */
export class AppendInFlight {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #key: ThreadKey;
  #append: Append | undefined;
  #answered: ((appended: Appended, append: Append) => void) | undefined;
  #failed: ((error: unknown) => void) | undefined;
  #tries = 0;
  #abandoned = false;
  /** An answer was lost. A refusal no longer proves that the append was not written: other writers may have followed it. */
  answerLost = false;

  constructor(store: Store, clock: Clock, key: ThreadKey) {
    this.#store = store;
    this.#clock = clock;
    this.#key = key;
  }

  /** Sends `append`, then calls one of the two: `failed` when no try is left. */
  send(append: Append, answered: (appended: Appended, append: Append) => void, failed: (error: unknown) => void): void {
    this.#append = append;
    this.#answered = answered;
    this.#failed = failed;
    this.#tries = 0;
    this.#try();
  }

  /** Makes the next lost answer final. */
  abandon(): void {
    this.#abandoned = true;
  }

  #try(): void {
    try {
      point("append:before", this.#append);
      this.#store.append(this.#key, this.#append!).then(this.#heard, this.#lost);
    } catch (error) {
      this.#lost(error);
    }
  }

  readonly #heard = (appended: Appended): void => {
    const append = this.#append!;
    point("append:after", append);
    this.#append = undefined;
    this.#answered!(appended, append);
  };

  readonly #lost = (error: unknown): void => {
    this.answerLost = true;
    const wait = RETRY_AFTER_MS[this.#tries];
    if (wait === undefined || error instanceof BelayError || this.#abandoned) return this.#failed!(error);
    this.#tries += 1;
    this.#clock.setTimeout(() => this.#try(), wait);
  };
}
