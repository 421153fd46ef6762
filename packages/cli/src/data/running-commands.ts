// The commands that run now, one small file each: after a crash they say which processes of a thread still live. A process is
// known by its number and its start time, because the system gives numbers to new processes.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "./make-folder.ts";

export interface RunningCommand {
  readonly threadId: string;
  readonly callId: string;
  readonly command: string;
  readonly pid: number;
  /** In the form of the system, which differs between systems. */
  readonly startedAt: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** How long a command may take to end before it is killed. */
const GRACE_MS = 500;
const LOOK_EVERY_MS = 50;

/** Records a command that was just started; the returned function takes the record back. */
export function noteCommand(dataFolder: string, command: Omit<RunningCommand, "startedAt" | "since">): () => void {
  const startedAt = startOf(command.pid);
  // It has ended by now: there is nothing to find after a crash.
  if (startedAt === undefined) return () => {};
  const file = fileOf(dataFolder, command);
  try {
    makeFolder(folderOf(dataFolder));
    const record: RunningCommand = { ...command, startedAt, since: Date.now() };
    // Whole or not at all: this process may be killed at any moment.
    writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // Without room for it only the question after a crash is poorer; the command itself can run.
  }
  return () => rmSync(file, { force: true });
}

/** Returns the commands of a thread that still run. Records of commands that have ended are removed. */
export function stillRunning(dataFolder: string, threadId: string): readonly RunningCommand[] {
  return recordsIn(dataFolder).filter((record) => {
    if (isRunning(record)) return record.threadId === threadId;
    rmSync(fileOf(dataFolder, record), { force: true });
    return false;
  });
}

export function isRunning({ pid, startedAt }: RunningCommand): boolean {
  return startOf(pid) === startedAt;
}

/** Ends the command and all that it started. False if it survives. */
export async function endCommand(dataFolder: string, record: RunningCommand): Promise<boolean> {
  const mark = markOf(record.pid);
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (isRunning(record)) send(-record.pid, signal);
    for (const pid of markedWith(mark)) send(pid, signal);
    const until = performance.now() + GRACE_MS;
    while (performance.now() < until && (isRunning(record) || markedWith(mark).length > 0)) await sleep(LOOK_EVERY_MS);
  }
  const ended = !isRunning(record) && markedWith(mark).length === 0;
  if (ended) rmSync(fileOf(dataFolder, record), { force: true });
  return ended;
}

function folderOf(dataFolder: string): string {
  return join(dataFolder, "running");
}

function fileOf(dataFolder: string, { threadId, callId }: Pick<RunningCommand, "threadId" | "callId">): string {
  const name = createHash("sha256").update(`${threadId} ${callId}`).digest("hex").slice(0, 32);
  return join(folderOf(dataFolder), `${name}.json`);
}

function recordsIn(dataFolder: string): RunningCommand[] {
  try {
    const files = readdirSync(folderOf(dataFolder)).filter((name) => name.endsWith(".json"));
    return files.flatMap((name) => readRecord(join(folderOf(dataFolder), name)));
  } catch {
    return [];
  }
}

/** A file that was cut by the crash itself says nothing. */
function readRecord(file: string): RunningCommand[] {
  try {
    return [JSON.parse(readFileSync(file, "utf8")) as RunningCommand];
  } catch {
    rmSync(file, { force: true });
    return [];
  }
}

/** When a process started; undefined if it has ended. */
function startOf(pid: number): string | undefined {
  try {
    if (process.platform !== "linux") {
      const args = ["-o", "lstart=", "-p", String(pid)];
      return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() || undefined;
    }
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

/** The mark that the runtime put into the environment of all processes of the call. */
function markOf(pid: number): string | undefined {
  return /(?:^|\0)(BELAY_PROCESS_MARK=[^\0]+)/.exec(environmentOf(String(pid)))?.[1];
}

function markedWith(mark: string | undefined): number[] {
  if (mark === undefined) return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => environmentOf(pid).includes(mark)).map(Number);
}

/** Empty for a process of another user, for one that has ended, and on systems that do not show it. */
function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile, or may not be signalled: a look says which.
  }
}
