// Processes of a call that have left its process group: by setsid, or as the child of a child. Linux only, because it reads
// /proc; elsewhere none is seen. Invariants:
// 1. A process counts if its environment carries the call's mark, or if it descends from the call's first process. One that
//    has cleared its environment and has lost its parent before the first look is not seen.
// 2. A process is signalled only while its start time is the one that was seen: its number may have a new owner.

import { readdirSync, readFileSync } from "node:fs";

export interface RunningProcess {
  readonly pid: number;
  readonly command: string;
}

/** One row of /proc. */
interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In ticks since the machine started. */
  readonly startedAt: number;
  /** It has ended, and its parent has not collected it. */
  readonly isDead: boolean;
}

/** The variable that marks the processes of a call; its value is the call's own. */
export const MARK_VARIABLE = "BELAY_PROCESS_MARK";

const MOST_COMMAND = 200;

export class Strays {
  readonly #leader: number;
  readonly #mark: Buffer;
  readonly #since: number;
  readonly #seen = new Map<number, ProcessRow>();

  /** To be made right after the start of `leader`, which leads the group. */
  constructor(leader: number, mark: string) {
    this.#leader = leader;
    this.#mark = Buffer.from(`${MARK_VARIABLE}=${mark}`);
    // Also of one that has ended by now: this process has not collected it yet.
    this.#since = readRow(leader)?.startedAt ?? 0;
  }

  /** Looks for strays. True if there are some that earlier looks did not find. */
  look(): boolean {
    const rows = process.platform === "linux" ? readRows() : [];
    const before = this.#seen.size;
    const descends = new Set([this.#leader, ...this.#seen.keys()]);
    // A parent starts before its children, but its number may be higher.
    for (const row of rows.sort((a, b) => a.startedAt - b.startedAt)) {
      if (row.isDead || row.startedAt < this.#since || row.pid === this.#leader) continue;
      if (!descends.has(row.parent) && !this.#isMarked(row.pid)) continue;
      descends.add(row.pid);
      if (row.group !== this.#leader) this.#seen.set(row.pid, row);
    }
    return this.#seen.size > before;
  }

  signal(signal: NodeJS.Signals): void {
    for (const { pid } of this.alive()) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended, or belongs to another user: it stays listed if it is alive.
      }
    }
  }

  /** Those that were found and still run. */
  alive(): readonly RunningProcess[] {
    for (const [pid, { startedAt }] of this.#seen) {
      const row = readRow(pid);
      if (row === undefined || row.isDead || row.startedAt !== startedAt) this.#seen.delete(pid);
    }
    return [...this.#seen.keys()].map((pid) => ({ pid, command: commandOf(pid) }));
  }

  #isMarked(pid: number): boolean {
    try {
      return readFileSync(`/proc/${pid}/environ`).includes(this.#mark);
    } catch {
      return false;
    }
  }
}

function readRows(): ProcessRow[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => readRow(Number(pid))).filter((row) => row !== undefined);
}

function readRow(pid: number): ProcessRow | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name stands in parentheses and may contain any character.
    const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const isDead = state === "Z" || state === "X";
    return { pid, parent: Number(parent), group: Number(group), startedAt: Number(rest[16]), isDead };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
    return words.slice(0, MOST_COMMAND);
  } catch {
    return "";
  }
}
