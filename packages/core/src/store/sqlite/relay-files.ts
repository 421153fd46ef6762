// Drafts between processes: for each followed thread one file beside the database. Readers make it; both sides append lines to
// it and read those of the other side. Invariants:
// 1. Without a reader there is no file, and an owner writes nothing.
// 2. The file goes with the last reader that lives, with its thread, and with an owner that finds no reader alive.
// 3. Nothing waits for it: it is never synced, and whatever fails with it is a lost body.
// 4. A line ends with its database: once that is closed, every line leaves and nothing is looked for.
// 5. Only its owner may read it (0600): it holds text of the thread.

import { hash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { isGone, ownerName } from "../owner.ts";
import { RelayRoom, type Side } from "../relay-room.ts";
import type { RelayLine } from "../store.ts";

const LOOK_MS = 20;
/** A longer file is emptied by its owner. */
const MOST_BYTES = 1024 * 1024;
const APPEND = constants.O_RDWR | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);

/** A file as far as this process has read it. */
interface Followed {
  readonly path: string;
  inode: number | bigint;
  offset: number;
  /** The readers of all processes, by name. */
  readonly readers: Set<string>;
}

let lines = 0;

export class RelayFiles {
  readonly #prefix: string;
  readonly #room = new RelayRoom();
  readonly #files = new Map<string, Followed>();
  readonly #isOpen: () => boolean;
  /** Each ends one line. */
  readonly #leaves = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** `database` is the path of the database file, and `isOpen` returns false once it is closed. */
  constructor(database: string, isOpen: () => boolean) {
    this.#prefix = `${database}-live-`;
    this.#isOpen = isOpen;
  }

  join(thread: string, side: Side, heard: (body: string) => void): RelayLine {
    const left = this.#room.add(thread, side, heard);
    const name = ownerName(String(++lines));
    if (side === "reader") this.#write(thread, "+", name, "", true);
    if (!this.#files.has(thread)) {
      this.#files.set(thread, { path: this.#path(thread), inode: 0, offset: 0, readers: new Set() });
      // A reader gets the text so far: the contents of the file are old. An owner finds the readers that wait for it.
      this.#read(thread, side === "reader");
    }
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    const leave = () => {
      if (!this.#leaves.delete(leave)) return;
      left();
      this.#leave(thread, side, name);
    };
    this.#leaves.add(leave);
    const say = (body: string) => {
      if (this.#leaves.has(leave)) this.#write(thread, side === "reader" ? "u" : "d", name, body, side === "reader");
    };
    return { say, leave };
  }

  /** The thread is deleted. */
  drop(thread: string): void {
    remove(this.#path(thread));
  }

  #leave(thread: string, side: Side, name: string): void {
    if (side === "reader") this.#write(thread, "-", name, "", false);
    this.#read(thread);
    const file = this.#files.get(thread);
    file?.readers.delete(name);
    const alive = [...(file?.readers ?? [])].some((reader) => !isGone(reader));
    if (!alive && file !== undefined && file.inode !== 0) remove(file.path);
    if (this.#room.has(thread, "owner") || this.#room.has(thread, "reader")) return;
    this.#files.delete(thread);
    if (this.#files.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (!this.#isOpen()) for (const leave of this.#leaves) leave();
    for (const thread of this.#files.keys()) this.#read(thread);
  }

  #write(thread: string, kind: string, name: string, body: string, create: boolean): void {
    try {
      const file = openSync(this.#path(thread), create ? APPEND | constants.O_CREAT : APPEND, 0o600);
      try {
        if (kind === "d" && fstatSync(file).size > MOST_BYTES) ftruncateSync(file);
        writeSync(file, `${kind} ${name} ${JSON.stringify(body)}\n`);
      } finally {
        closeSync(file);
      }
    } catch {
      // There is no reader, or the body is lost.
    }
  }

  #read(thread: string, isOld = false): void {
    const known = this.#files.get(thread);
    if (known === undefined) return;
    const { path } = known;
    try {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) {
        known.inode = 0;
        known.readers.clear();
        return;
      }
      // Another file, or one that was emptied: the unread rest of the old one is lost.
      if (found.ino !== known.inode || found.size < known.offset) {
        known.inode = found.ino;
        known.offset = 0;
      }
      if (found.size > known.offset) this.#take(thread, known, readFrom(path, known.offset, found.size), isOld);
    } catch {
      // It is read at the next look, or its bodies are lost.
    }
  }

  #take(thread: string, known: Followed, bytes: Buffer, isOld: boolean): void {
    // Up to the last whole line: the rest is read again with its end.
    const end = bytes.lastIndexOf(10) + 1;
    known.offset += end;
    for (const line of bytes.toString("utf8", 0, end).split("\n")) {
      const [kind = "", name = ""] = line.split(" ", 2);
      if (kind === "+" || kind === "u") known.readers.add(name);
      if (kind === "-") known.readers.delete(name);
      const side = kind === "u" ? "owner" : kind === "d" ? "reader" : undefined;
      if (side === undefined || isOld || !this.#room.has(thread, side)) continue;
      if (side === "owner" && isGone(name)) continue;
      const body = bodyIn(line.slice(kind.length + name.length + 2));
      if (body !== undefined) this.#room.deliver(thread, side, body);
    }
  }

  /** A thread's id may be no file name. */
  #path(thread: string): string {
    return this.#prefix + (hash("sha256", thread, "hex") as string).slice(0, 32);
  }
}

function readFrom(path: string, offset: number, size: number): Buffer {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const bytes = Buffer.alloc(size - offset);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
  } finally {
    closeSync(file);
  }
}

function bodyIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "string" ? body : undefined;
  } catch {
    return undefined;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone.
  }
}
