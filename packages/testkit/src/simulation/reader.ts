// A reader of a thread or of a run, as a page would be: every fact in its order, text shown is text kept, every turn has
// its end.

import { type BelayEvent, messageText } from "@belay/core";
import { isBlank, isFact } from "@belay/core/inside";

export interface ReaderHost {
  /** Whether drafts between facts may be missing, because a process died, released or lost the thread. */
  misses(): boolean;
  /** Whether its process runs the work of this event. Text of another process comes by relay, and its end with the message (L1). */
  isHere(event: BelayEvent): boolean;
  /** Stops may take back text that readers were shown. */
  readonly rollsBack: boolean;
  /** Whether every turn must have one start and one end. */
  readonly turns: boolean;
  /** The first fact that it reads; undefined if it reads a part. */
  readonly first: number | undefined;
  /** The facts on record when it began to read: turns may have begun before that. */
  readonly head: number;
  problem(what: string): void;
}

export class Reader {
  readonly #name: string;
  readonly #host: ReaderHost;
  readonly #shown = new Map<string, string>();
  readonly #turns = new Set<string>();
  #next: number | undefined;
  /** The segment in which it began, if any, is over. */
  #saw = false;

  constructor(name: string, host: ReaderHost) {
    this.#name = name;
    this.#host = host;
    this.#next = host.first;
  }

  see(event: BelayEvent): void {
    if (isFact(event)) {
      if (event.seq !== (this.#next ?? event.seq)) this.#problem(`fact ${event.seq}, not ${this.#next}`);
      this.#next = event.seq + 1;
    }
    this.#seeText(event);
    if (this.#host.turns) this.#seeTurn(event);
  }

  /** Returns text that was shown and that no message has. */
  lost(): string[] {
    return [...this.#shown.values()].filter((text) => !isBlank(text));
  }

  #seeText(event: BelayEvent): void {
    if (event.type === "gap") this.#shown.clear();
    if (event.type === "superseded") this.#shown.delete(event.messageId);
    if (event.type === "text-delta") {
      const { messageId: id, offset, text } = event;
      const before = this.#shown.get(id);
      // A relay may send the text so far once more (L2): it replaces the text that was shown.
      if (offset === 0 && before !== undefined && this.#host.isHere(event))
        this.#problem(`text of ${id} begins again, and was not superseded`);
      const length = before?.length ?? 0;
      if (offset > 0 && offset !== length && !this.#host.misses())
        this.#problem(`text of ${id} at ${offset}, not ${length}`);
      this.#shown.set(id, offset === 0 ? text : `${before ?? ""}${text}`);
    }
    if (event.type !== "message" || event.message.origin !== "model") return;
    const { id } = event.message;
    const shown = this.#shown.get(id);
    this.#shown.delete(id);
    const kept = messageText(event.message);
    const again = (event.attempt ?? 1) > 1 && (this.#host.rollsBack || this.#host.misses());
    if (shown === undefined || shown === kept || again || (kept === "" && isBlank(shown))) return;
    if (kept.startsWith(shown) && !this.#host.isHere(event)) return;
    this.#problem(`of ${id} ${JSON.stringify(shown)} was shown, ${JSON.stringify(kept)} is kept`);
  }

  #seeTurn(event: BelayEvent): void {
    // A relay does not carry facts: the start or the end of a turn may come after them, and is dropped.
    const misses = this.#host.misses() || !this.#host.isHere(event);
    if (event.type === "turn-start" || event.type === "turn-end") {
      const turn = `${event.runPath} ${event.turn}`;
      if (event.type === "turn-end") {
        const began = this.#turns.delete(turn) || !this.#saw || misses;
        if (!began) this.#problem(`turn ${turn} ends without a start`);
      } else {
        // A turn that was cut with its segment has no end.
        if (this.#turns.has(turn) && !misses) this.#problem(`turn ${turn} starts twice`);
        this.#turns.add(turn);
      }
    }
    if (event.type !== "state" || event.state === "initialized") return;
    this.#saw ||= event.seq > this.#host.head;
    if (event.state !== "running" && this.#turns.size > 0 && !misses) {
      this.#problem(`${event.state} at ${event.seq}, and turns have no end: ${[...this.#turns].join(", ")}`);
    }
    this.#turns.clear();
  }

  #problem(what: string): void {
    this.#host.problem(`${this.#name}: ${what}`);
  }
}
