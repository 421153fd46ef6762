// The state of another process that runs a session's thread (R4, V6). Invariants:
// 1. While another process runs the thread, the session reads it again at each hint, and checks whether the owner is still
//    alive: no hint would show that it is gone.
// 2. Neither a hint nor a timer keeps the session in memory, or the process alive.

import type { Lease, ThreadKey } from "../../store/store.ts";
import type { Setup } from "../given/setup.ts";
import { lookLater } from "../read/owner-watch.ts";

export class OwnerSeen {
  readonly #setup: Setup;
  readonly #key: ThreadKey;
  /** Reads the thread, and so calls `saw`. Never rejects. */
  readonly #read: () => Promise<unknown>;
  #lease: Lease | undefined;
  #unwatch: (() => void) | undefined;
  #timer: unknown;
  #reading = false;
  /** Something has changed since the present reading began. */
  #isOld = false;
  #isOver = false;

  constructor(setup: Setup, key: ThreadKey, read: () => Promise<unknown>) {
    this.#setup = setup;
    this.#key = key;
    this.#read = read;
  }

  /** True if another process was running the thread when this session last read it. */
  get isThere(): boolean {
    return this.#lease !== undefined;
  }

  /** The thread runs under this lease; undefined if it does not run. */
  saw(lease: Lease | undefined): void {
    this.#lease = lease?.owner === this.#setup.owner ? undefined : lease;
    if (this.#lease === undefined) return this.#rest();
    if (this.#isOver || this.#unwatch !== undefined) return;
    const self = new WeakRef(this);
    const look = () => {
      const there = self.deref();
      if (there === undefined) unwatch();
      else void there.#look();
    };
    const unwatch = this.#setup.store.watch(this.#key, look, "append", true);
    this.#unwatch = unwatch;
    this.#lookLater();
  }

  /** The session is closed. */
  end(): void {
    this.#isOver = true;
    this.#rest();
  }

  #rest(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#setup.clock.clearTimeout(this.#timer);
  }

  #lookLater(): void {
    const { clock } = this.#setup;
    const self = new WeakRef(this);
    clock.clearTimeout(this.#timer);
    this.#timer = lookLater(clock, this.#lease, () => {
      const there = self.deref();
      if (there !== undefined) void there.#look();
    });
  }

  async #look(): Promise<void> {
    this.#isOld = true;
    if (this.#reading) return;
    this.#reading = true;
    while (this.#isOld && this.#unwatch !== undefined) {
      this.#isOld = false;
      await this.#read();
    }
    this.#reading = false;
    if (this.#unwatch !== undefined) this.#lookLater();
  }
}
