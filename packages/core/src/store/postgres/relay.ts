// Drafts between processes, by NOTIFY: those of an owner on a channel of their thread, which only its readers follow; calls of
// readers on one channel that every owner follows. A payload has fewer than 8,000 bytes, so a long body goes in parts; a body
// with a lost part is lost.

import type { Bus } from "../bus.ts";
import { RelayRoom, type Side } from "../relay-room.ts";
import type { RelayLine } from "../store.ts";
import type { Calls } from "./calls.ts";
import type { Hints } from "./hints.ts";

const MOST_BYTES = 7_500;
/** A character takes three bytes at most; two halves of one take four together. */
const PART_LENGTH = MOST_BYTES / 3;
/** Bodies that wait for the database: it is too slow, and the oldest are lost. */
const MOST_WAITING = 50;

let bodies = 0;

export class Relay {
  readonly #calls: Calls;
  readonly #hints: Hints;
  /** The beginning of the names of all channels. */
  readonly #channel: string;
  readonly #bus: Bus | undefined;
  readonly #room = new RelayRoom();
  /** The parts of bodies that are not whole, by thread and number. */
  readonly #parts = new Map<string, string[]>();
  #unhear: (() => void) | undefined;

  constructor(calls: Calls, hints: Hints, channel: string, bus?: Bus) {
    this.#calls = calls;
    this.#hints = hints;
    this.#channel = channel;
    this.#bus = bus;
  }

  /** `thread` is a name of hexadecimal digits. */
  join(thread: string, side: Side, heard: (body: string) => void): RelayLine {
    const down = `${this.#channel}_${thread}`;
    const up = `${this.#channel}_up`;
    const isFirst = !this.#room.has(thread, side);
    const left = this.#room.add(thread, side, heard);
    if (side === "owner") this.#unhear ??= this.#hints.hear(up, (payload) => this.#heard("owner", payload));
    const unhear =
      side === "reader" && isFirst ? this.#hints.hear(down, (payload) => this.#heard("reader", payload)) : undefined;
    if (unhear !== undefined) this.#unhearers.set(thread, unhear);
    const to = side === "owner" ? down : up;
    const send = inOrder(async (body) => {
      const parts = partsOf(thread, body);
      if (this.#bus === undefined) await this.#calls.aside("relay", [to, parts]);
      else for (const part of parts) await this.#bus.publish(to, part);
    });
    return {
      say: send,
      leave: () => {
        if (!left()) return;
        if (side === "reader") {
          this.#unhearers.get(thread)?.();
          this.#unhearers.delete(thread);
        }
      },
    };
  }

  readonly #unhearers = new Map<string, () => void>();

  #heard(side: Side, payload: string): void {
    const [thread = "", id = "", at = "", of = ""] = payload.split(" ", 4);
    if (!this.#room.has(thread, side)) return;
    const part = payload.slice(thread.length + id.length + at.length + of.length + 4);
    if (of === "1") return this.#room.deliver(thread, side, part);
    const key = `${thread} ${id}`;
    const parts = this.#parts.get(key) ?? [];
    this.#parts.set(key, parts);
    parts.push(part);
    // NOTIFY keeps the order of one transaction.
    if (at !== of) return;
    this.#parts.delete(key);
    for (const old of this.#parts.keys()) if (old.startsWith(`${thread} `)) this.#parts.delete(old);
    if (parts.length === Number(of)) this.#room.deliver(thread, side, parts.join(""));
  }
}

/** Returns the payloads of a body. */
function partsOf(thread: string, body: string): string[] {
  const id = `${process.pid.toString(36)}.${++bodies}`;
  // Half a character would not arrive.
  const text = body.isWellFormed() ? body : body.toWellFormed();
  const parts: string[] = [];
  for (let from = 0; from < text.length || parts.length === 0; ) {
    let to = Buffer.byteLength(text) < MOST_BYTES ? text.length : Math.min(from + PART_LENGTH, text.length);
    if (to < text.length && isFirstHalf(text.charCodeAt(to - 1))) to -= 1;
    parts.push(text.slice(from, to));
    from = to;
    if (text.length === 0) break;
  }
  return parts.map((part, i) => `${thread} ${id} ${i + 1} ${parts.length} ${part}`);
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** Two calls at once may take two connections, and change places. */
function inOrder(send: (body: string) => Promise<unknown>): (body: string) => void {
  let waiting: string[] = [];
  let isSending = false;
  const next = () => {
    const body = waiting.shift();
    isSending = body !== undefined;
    if (body !== undefined) send(body).then(next, next);
  };
  return (body) => {
    waiting.push(body);
    if (waiting.length > MOST_WAITING) waiting = waiting.slice(-MOST_WAITING);
    if (!isSending) next();
  };
}
