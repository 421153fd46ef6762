// Finds out that the process which ran a thread is gone, for the readers of that thread (V6). Invariants:
// 1. Only the store's word counts: the thread is on record as running, and no lease is shown.
// 2. A thread that rests costs nothing: the row is read again only while another process runs the thread.

import type { Clock } from "../../clock.ts";
import type { OwnerLostEvent } from "../../event.ts";
import { decode } from "../../journal/codec.ts";
import type { Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import { loadThread } from "./read-facts.ts";

/** A store that sees processes shows at once that one is gone; the others show it when the lease lapses. */
const LOOK_MS = 500;

export class OwnerWatch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #key: ThreadKey;
  readonly #tell: (lost: OwnerLostEvent) => void;
  #timer: unknown;
  #lost: OwnerLostEvent | undefined;
  #isOver = false;

  constructor({ store, clock }: { store: Store; clock: Clock }, key: ThreadKey, tell: (lost: OwnerLostEvent) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#key = key;
    this.#tell = tell;
  }

  /** The last loss that readers got, for those that join. One that is older than a reader's last fact is void. */
  get lost(): OwnerLostEvent | undefined {
    return this.#lost;
  }

  /** The store shows the thread like this. */
  saw({ state, lease, head }: ThreadRow): void {
    if (this.#isOver) return;
    if (state !== "running" || lease !== undefined) this.#lost = undefined;
    if (state !== "running") return this.#rest();
    if (lease !== undefined) return this.#lookIn(Math.min(LOOK_MS, Math.max(1, lease.until - this.#clock.now() + 1)));
    this.#rest();
    if (this.#lost?.seq !== head) void this.#report();
  }

  end(): void {
    this.#isOver = true;
    this.#rest();
  }

  #rest(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #lookIn(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined;
      void this.#look();
    }, ms);
    (this.#timer as { unref?(): void } | undefined)?.unref?.();
  }

  /** A store that fails now is asked again: its readers learn of it by their own reads. */
  async #look(): Promise<void> {
    try {
      const loaded = await loadThread(this.#store, this.#key, Number.MAX_SAFE_INTEGER);
      if (loaded !== undefined) this.saw(loaded.row);
    } catch {
      if (!this.#isOver) this.#lookIn(LOOK_MS);
    }
  }

  async #report(): Promise<void> {
    const { threadId } = this.#key;
    try {
      const loaded = await loadThread(this.#store, this.#key, "rest");
      const line = loaded?.lines.at(-1);
      const last = line && decode(threadId, line, () => null).at(-1);
      if (this.#isOver || loaded === undefined || last === undefined) return;
      const { state, lease, agent, head } = loaded.row;
      if (state !== "running" || lease !== undefined) return this.saw(loaded.row);
      if (this.#lost?.seq === head) return;
      const { runId, segment, attempt } = last;
      const place = { threadId, runId, segment, attempt, agentName: agent, runPath: agent };
      this.#lost = { type: "owner-lost", seq: head, at: this.#clock.now(), ...place };
      this.#tell(this.#lost);
    } catch {
      if (!this.#isOver) this.#lookIn(LOOK_MS);
    }
  }
}
