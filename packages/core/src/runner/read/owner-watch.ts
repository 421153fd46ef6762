// Finds out that the process which ran a thread is gone, for the readers of that thread (V6). Invariants:
// 1. Only the store's word counts: the thread is on record as running, and no lease is shown.
// 2. A thread that rests costs nothing: the row is read again only while another process runs the thread.

import { backgroundTimer, type Clock } from "../../clock.ts";
import type { OwnerLostEvent } from "../../event.ts";
import type { Lease, Loaded, Store, ThreadKey, ThreadRow } from "../../store/store.ts";
import { endOf, loadThread } from "./read-facts.ts";

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
    this.#clock.clearTimeout(this.#timer);
    if (this.#isOver) return;
    if (state !== "running" || lease !== undefined) this.#lost = undefined;
    if (state !== "running") return;
    if (lease !== undefined) this.#lookLater(lease);
    else if (this.#lost?.seq !== head) void this.#read("rest", (loaded) => this.#report(loaded));
  }

  end(): void {
    this.#isOver = true;
    this.#clock.clearTimeout(this.#timer);
  }

  #lookLater(lease?: Lease): void {
    const look = () => void this.#read(Number.MAX_SAFE_INTEGER, ({ row }) => this.saw(row));
    this.#clock.clearTimeout(this.#timer);
    this.#timer = lookLater(this.#clock, lease, look);
  }

  /** A store that fails now is asked again: its readers learn of it by their own reads. */
  async #read(after: number | "rest", take: (loaded: Loaded) => void): Promise<void> {
    try {
      const loaded = await loadThread(this.#store, this.#key, after);
      if (!this.#isOver && loaded !== undefined) take(loaded);
    } catch {
      if (!this.#isOver) this.#lookLater();
    }
  }

  #report(loaded: Loaded): void {
    const { state, lease, agent, head } = loaded.row;
    if (state !== "running" || lease !== undefined) return this.saw(loaded.row);
    const last = endOf(loaded);
    if (last === undefined || this.#lost?.seq === head) return;
    const { runId, segment, attempt } = last;
    const { threadId } = this.#key;
    const place = { threadId, runId, segment, attempt, agentName: agent, runPath: agent };
    this.#lost = { type: "owner-lost", seq: head, at: this.#clock.now(), ...place };
    this.#tell(this.#lost);
  }
}

/** Sets the timer for the next look at the owner of a thread, which has this lease. It keeps no process alive. */
export function lookLater(clock: Clock, lease: Lease | undefined, look: () => void): unknown {
  const left = lease === undefined ? LOOK_MS : lease.until - clock.now() + 1;
  return backgroundTimer(clock, look, Math.min(LOOK_MS, Math.max(1, left)));
}
