// Which threads and tenants other processes follow, by what they say: an append that no one follows needs no hint. A process says
// so when it begins to follow, when another one asks, and now and then.

/** Asks all processes what they follow. */
export const ASK = "?";
/** Begins the name of a thread or a tenant that is followed. */
const FOLLOW = "f";
const ANY = "*";
/** How long others have to say what they follow. Until then everything may be followed. */
const ASKED_MS = 2_000;
/** How long it counts that a thread is followed. */
const FOLLOWED_MS = 15_000;
/** How often to say it again. */
export const AGAIN_MS = FOLLOWED_MS / 3;

export class Followed {
  readonly #until = new Map<string, number>();
  #saidAt = 0;
  /** Since when this process hears others; undefined while it does not. */
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

  /** Returns whether a process elsewhere may wait for what happens under one of these names. */
  mayBe(...names: readonly string[]): boolean {
    const now = performance.now();
    if (this.joinedAt === undefined || now - this.joinedAt < ASKED_MS) return true;
    return [ANY, ...names].some((name) => (this.#until.get(name) ?? 0) > now);
  }

  /** Returns the hints that say what is followed here. */
  says(names: readonly string[], mostBytes: number): readonly string[] {
    this.#saidAt = performance.now();
    const hints = names.map((name) => FOLLOW + name);
    return hints.join(" ").length < mostBytes ? hints : [FOLLOW + ANY];
  }

  /** Forgets old words. Returns whether to say again what is followed here. */
  tick(): boolean {
    const now = performance.now();
    for (const [name, until] of this.#until) if (until < now) this.#until.delete(name);
    return now - this.#saidAt >= AGAIN_MS;
  }
}
