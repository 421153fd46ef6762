// A reader of a thread, as a page would be: every fact in its order, text shown is text kept, every turn has its end.

import { type BelayEvent, type Fact, messageText } from "@belay/core";
import { isBlank, isFact } from "@belay/core/inside";

export interface ReaderHost {
  /** Something was cut in the middle: what is between facts may be missing. */
  readonly disturbed: boolean;
  /** Stops may take back what was said. */
  readonly rollsBack: boolean;
  /** What was on record when it came: turns may have begun before that. */
  readonly head: number;
  problem(what: string): void;
}

export class Reader {
  readonly #name: string;
  readonly #host: ReaderHost;
  readonly #shown = new Map<string, string>();
  readonly #turns = new Set<string>();
  readonly #facts: Fact[] = [];
  #last = 0;
  /** The stretch that it came into, if there was one, is over. */
  #saw = false;

  constructor(name: string, host: ReaderHost) {
    this.#name = name;
    this.#host = host;
  }

  see(event: BelayEvent): void {
    if (isFact(event)) {
      if (event.seq !== this.#last + 1) this.#problem(`fact ${event.seq} after ${this.#last}`);
      this.#last = event.seq;
      this.#facts.push(event);
    }
    this.#seeText(event);
    this.#seeTurn(event);
  }

  /** Whoever reads is told what is on record. */
  compare(facts: readonly Fact[]): void {
    for (const fact of this.#facts) {
      const stored = inOrder(facts[fact.seq - 1]);
      if (inOrder(fact) !== stored) this.#problem(`was told ${inOrder(fact)}, and ${stored} is on record`);
    }
  }

  #seeText(event: BelayEvent): void {
    if (event.type === "gap") this.#shown.clear();
    if (event.type === "superseded") this.#shown.delete(event.messageId);
    if (event.type === "text-delta") {
      const { messageId: id, offset, text } = event;
      const before = this.#shown.get(id);
      if (offset === 0 && before !== undefined) this.#problem(`text of ${id} begins again, and was not superseded`);
      const length = before?.length ?? 0;
      if (offset > 0 && offset !== length && !this.#host.disturbed)
        this.#problem(`text of ${id} at ${offset}, not ${length}`);
      this.#shown.set(id, offset === 0 ? text : `${before ?? ""}${text}`);
    }
    if (event.type !== "message" || event.message.origin !== "model") return;
    const { id } = event.message;
    const shown = this.#shown.get(id);
    this.#shown.delete(id);
    const kept = messageText(event.message);
    const again = (event.attempt ?? 1) > 1 && (this.#host.rollsBack || this.#host.disturbed);
    if (shown === undefined || shown === kept || again || (kept === "" && isBlank(shown))) return;
    this.#problem(`of ${id} ${JSON.stringify(shown)} was shown, ${JSON.stringify(kept)} is kept`);
  }

  #seeTurn(event: BelayEvent): void {
    if (event.type === "turn-start" || event.type === "turn-end") {
      const turn = `${event.runPath} ${event.turn}`;
      if (event.type === "turn-end") {
        const began = this.#turns.delete(turn) || !this.#saw || this.#host.disturbed;
        if (!began) this.#problem(`turn ${turn} ends without a start`);
      } else {
        // One that was cut with its stretch has no end.
        if (this.#turns.has(turn) && !this.#host.disturbed) this.#problem(`turn ${turn} starts twice`);
        this.#turns.add(turn);
      }
    }
    if (event.type !== "state" || event.state === "initialized") return;
    this.#saw ||= event.seq > this.#host.head;
    if (event.state !== "running" && this.#turns.size > 0 && !this.#host.disturbed) {
      this.#problem(`${event.state} at ${event.seq}, and turns have no end: ${[...this.#turns].join(", ")}`);
    }
    this.#turns.clear();
  }

  #problem(what: string): void {
    this.#host.problem(`${this.#name}: ${what}`);
  }
}

/** The same for the same data, however its keys are ordered. */
function inOrder(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
