// A reader's end of a relay: it follows a thread that another process runs, and puts the drafts together again. Invariants:
// 1. Readers here get the text of a message without holes and without repeats. After a lost batch they get `gap`, and the
//    text continues when the owner has sent the text so far.
// 2. The owner learns of this reader within a moment: the reader calls when it begins to follow, when it sees facts of an owner that
//    has not answered yet, and again before its time is over.

import { backgroundTimer, type Clock } from "../../clock.ts";
import type { DeltaEvent, Draft, Fact, GapEvent } from "../../event.ts";
import type { RelayLine } from "../../store/store.ts";
import { type Follow, readBatch } from "./relay-words.ts";

/** How long the owner counts a reader that says nothing more. */
const TTL_MS = 10_000;
const AGAIN_MS = 3_000;
/** The time between two calls to an owner that may have missed the last one. */
const CALL_MS = 50;

/** An answer as far as it was received: its last pieces, with all of the text. */
interface Heard {
  readonly messageId: string;
  readonly attempt: number;
  text: DeltaEvent | undefined;
  reasoning: DeltaEvent | undefined;
}

export class RelayIn {
  readonly #clock: Clock;
  readonly #reader: string;
  readonly #publish: (draft: Draft) => void;
  readonly #line: RelayLine | undefined;
  /** By the path of the agent. */
  readonly #answers = new Map<string, Heard>();
  #owner: string | undefined;
  #n = 0;
  /** The present owner has received the call of this reader. */
  #isKnown = false;
  /** The time of the next call if no owner answers: it may have begun, and not follow yet. */
  #againMs = CALL_MS;
  #calledAt = Number.NEGATIVE_INFINITY;
  #callTimer: unknown;
  #againTimer: unknown;

  constructor(
    reader: string,
    clock: Clock,
    publish: (draft: Draft) => void,
    join: (heard: (body: string) => void) => RelayLine | undefined,
  ) {
    this.#reader = reader;
    this.#clock = clock;
    this.#publish = publish;
    this.#line = join((body) => this.#heard(body));
    if (this.#line !== undefined) this.#call();
  }

  /** False if the store has no way to relay. */
  get isOpen(): boolean {
    return this.#line !== undefined;
  }

  /** The thread has these facts: it may have an owner that has not received this reader's call. */
  moved(facts: readonly Fact[]): void {
    if (this.#line === undefined || facts.length === 0) return;
    if (facts.some((fact) => fact.type === "state" && fact.state === "running")) {
      this.#isKnown = false;
      this.#againMs = CALL_MS;
    }
    if (!this.#isKnown) this.#callSoon();
  }

  soFar(): Draft[] {
    return [...this.#answers.values()].flatMap(({ reasoning, text }) => [reasoning ?? [], text ?? []].flat());
  }

  leave(): void {
    this.#clock.clearTimeout(this.#callTimer);
    this.#clock.clearTimeout(this.#againTimer);
    this.#say(0);
    this.#line?.leave();
  }

  #heard(body: string): void {
    const batch = readBatch(body);
    if (batch === undefined) return;
    const { owner, n, drafts, over } = batch;
    if (owner !== this.#owner) this.#answers.clear();
    else if (n <= this.#n) return;
    else if (n > this.#n + 1) this.#lost(drafts[0]);
    this.#owner = owner;
    this.#n = n;
    for (const draft of drafts) this.#take(draft);
    this.#isKnown = !over;
  }

  #lost(next: Draft | undefined): void {
    const known = next ?? [...this.#answers.values()].at(-1)?.text;
    if (known !== undefined) {
      const { seq, at, threadId, runId, segment, attempt, agentName, runPath } = known;
      const gap: GapEvent = { type: "gap", seq, at, threadId, runId, segment, attempt, agentName, runPath };
      this.#publish(gap);
    }
    this.#callSoon();
  }

  #take(draft: Draft): void {
    switch (draft.type) {
      case "text-delta":
        return this.#takeText(draft, "text");
      case "reasoning-delta":
        return this.#takeText(draft, "reasoning");
      case "superseded":
        this.#answers.delete(draft.runPath);
        break;
      default:
    }
    this.#publish(draft);
  }

  #takeText(delta: DeltaEvent, kind: "text" | "reasoning"): void {
    const { runPath, messageId, attempt, offset } = delta;
    let heard = this.#answers.get(runPath);
    if (heard?.messageId !== messageId || heard.attempt < attempt) {
      heard = { messageId, attempt, text: undefined, reasoning: undefined };
      this.#answers.set(runPath, heard);
    }
    if (attempt < heard.attempt) return;
    const known = heard[kind]?.text ?? "";
    // The owner was asked for the text so far.
    if (offset > known.length) return this.#callSoon();
    const text = delta.text.slice(known.length - offset);
    if (text === "") return;
    heard[kind] = { ...delta, offset: 0, text: known + text };
    this.#publish({ ...delta, offset: known.length, text });
  }

  #callSoon(): void {
    if (this.#callTimer !== undefined) return;
    const waitMs = this.#calledAt + CALL_MS - this.#clock.now();
    if (waitMs <= 0) return this.#call();
    this.#callTimer = backgroundTimer(this.#clock, () => this.#call(), waitMs);
  }

  #call(): void {
    this.#clock.clearTimeout(this.#callTimer);
    this.#callTimer = undefined;
    this.#calledAt = this.#clock.now();
    this.#say(TTL_MS, true);
    this.#again();
  }

  #again(): void {
    this.#clock.clearTimeout(this.#againTimer);
    const again = () => {
      this.#say(TTL_MS, !this.#isKnown);
      this.#again();
    };
    this.#againMs = this.#isKnown ? AGAIN_MS : Math.min(2 * this.#againMs, AGAIN_MS);
    this.#againTimer = backgroundTimer(this.#clock, again, this.#againMs);
  }

  #say(ttlMs: number, want = false): void {
    const follow: Follow = { reader: this.#reader, ttlMs, want };
    this.#line?.say(JSON.stringify(follow));
  }
}
