// The lines of relays that are open in this process, by thread and side. A store delivers to them the bodies that come from
// elsewhere; between lines of one store it needs no other way.

import type { RelayLine } from "./store.ts";

export type Side = "owner" | "reader";
type Heard = (body: string) => void;

export class RelayRoom {
  readonly #lines: Readonly<Record<Side, Map<string, readonly Heard[]>>> = { owner: new Map(), reader: new Map() };

  /** A line between both sides in this process. */
  join(thread: string, side: Side, heard: Heard): RelayLine {
    const leave = this.add(thread, side, heard);
    const other = side === "owner" ? "reader" : "owner";
    return { say: (body) => queueMicrotask(() => this.deliver(thread, other, body)), leave };
  }

  /** Returns how to leave; that returns true for the last line of the thread on this side. */
  add(thread: string, side: Side, heard: Heard): () => boolean {
    const lines = this.#lines[side];
    // The same function may be listed twice.
    const own: Heard = (body) => heard(body);
    lines.set(thread, [...(lines.get(thread) ?? []), own]);
    return () => {
      const joined = lines.get(thread) ?? [];
      if (!joined.includes(own)) return false;
      if (joined.length === 1) return lines.delete(thread);
      lines.set(
        thread,
        joined.filter((each) => each !== own),
      );
      return false;
    };
  }

  has(thread: string, side: Side): boolean {
    return this.#lines[side].has(thread);
  }

  threads(side: Side): readonly string[] {
    return [...this.#lines[side].keys()];
  }

  deliver(thread: string, side: Side, body: string): void {
    for (const heard of this.#lines[side].get(thread) ?? []) heard(body);
  }
}
