// The threads and tenants that other processes follow, by their own messages: an append to any other needs no hint. A process sends
// such a message when it begins to follow, when another process asks, and at intervals.

/** Asks all processes for the names that they follow. */
export const ASK = "?";
/** Begins the name of a thread or a tenant that is followed. */
const FOLLOW = "f";
const ANY = "*";
/** The time that others have to report the names that they follow. Until then every name counts as followed. */
const ASKED_MS = 2_000;
/** How long it counts that a thread is followed. */
const FOLLOWED_MS = 15_000;
/** How often to say it again. */
export const AGAIN_MS = FOLLOWED_MS / 3;

export class Followed {
  readonly #until = new Map<string, number>();
  #saidAt = 0;
  /** The time since which this process receives messages; undefined while it does not. */
  joinedAt: number | undefined;

  /** Returns whether the hint was about this. */
  heard(hint: string): boolean {
    if (!hint.startsWith(FOLLOW)) return false;
    this.#until.set(hint.slice(FOLLOW.length), performance.now() + FOLLOWED_MS);
    return true;
  }

  /** More was said than a hint can hold: anything may be followed. */
  heardAny(): void {
    this.heard(FOLLOW + ANY);
  }

  /** Returns whether another process may wait for changes under one of these names. */
  mayBe(...names: readonly string[]): boolean {
    const now = performance.now();
    if (this.joinedAt === undefined || now - this.joinedAt < ASKED_MS) return true;
    return [ANY, ...names].some((name) => (this.#until.get(name) ?? 0) > now);
  }

  /** Returns the messages with the names that this process follows. */
  says(names: readonly string[], mostBytes: number): readonly string[] {
    this.#saidAt = performance.now();
    const hints = names.map((name) => FOLLOW + name);
    return hints.join(" ").length < mostBytes ? hints : [FOLLOW + ANY];
  }

  /** Drops old messages. Returns whether to send the names that this process follows again. */
  tick(): boolean {
    const now = performance.now();
    for (const [name, until] of this.#until) if (until < now) this.#until.delete(name);
    return now - this.#saidAt >= AGAIN_MS;
  }
}
