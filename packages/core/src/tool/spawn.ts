// A child process that ends with the call that started it. Invariants:
// 1. On a stop, and when the call ends, the whole group is asked to end (SIGTERM) and after the grace made to (SIGKILL),
//    also when only grandchildren are left. A stop does the same to processes that have left the group, as far as they can
//    be seen; the end of a call leaves those alone.
// 2. `exit` and `output` settle once the command has ended, even if a grandchild that left the group holds its pipes open.

import type * as ChildProcess from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { builtIn } from "../built-in.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { collectOutput } from "./collect-output.ts";
import { type ProcessGroup, processGroup } from "./process-group.ts";
import { readLines } from "./read-lines.ts";
import { MARK_VARIABLE, type RunningProcess, Strays } from "./strays.ts";

/** The options of `ctx.spawn()`. */
export interface SpawnOptions {
  readonly cwd?: string | undefined;
  /** The whole environment of the child; without it, that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Written to stdin, which is then closed. Without it stdin stays open for you to write to and end. */
  readonly input?: string | undefined;
  readonly shell?: boolean | string | undefined;
  /** How much of stdout and of stderr `output` keeps, each; 1 MB. The middle is left out, with a note. */
  readonly maxOutputBytes?: number | undefined;
}

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The end of a process, and its output. */
export interface ProcessOutput extends ProcessExit {
  readonly stdout: string;
  readonly stderr: string;
}

/** A child process of a call. */
export interface SpawnedProcess {
  /** Undefined when the command could not be started. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** How it ended. Rejects only when it could not be started. */
  readonly exit: Promise<ProcessExit>;
  /** Resolves to its end and its output. Rejects only when it could not be started. */
  readonly output: Promise<ProcessOutput>;
  /** The lines of stdout, as they come. */
  lines(): AsyncIterableIterator<string>;
  /** Signals the process and all it started; SIGTERM by default. False when none is left of its process group. */
  kill(signal?: NodeJS.Signals): boolean;
  /**
   * Processes that it started, that have left its process group (`setsid`) and still run. The end of the call does not end
   * them. Seen on Linux only; a process that has cleared its environment and lost its parent is not seen.
   */
  strays(): readonly RunningProcess[];
}

/** A process of the runtime whose call can end. */
export interface OwnedProcess extends SpawnedProcess {
  /** Ends the rest of the group after the end of the call. Resolves when no process is left. */
  release(): Promise<void>;
}

export type ToolSpawn = (command: string, args?: readonly string[], options?: SpawnOptions) => SpawnedProcess;

const OPTIONS: KnownOptions<SpawnOptions> = {
  cwd: true,
  env: true,
  input: true,
  shell: true,
  maxOutputBytes: true,
};

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** A pipe silent for this long after the command's end is held open by something that outlives it. */
const QUIET_MS = 100;
/** And one that is not silent is not listened to for more than this many such times. */
const MAX_ROUNDS = 20;
/** How long after SIGKILL a stray counts as one that is about to end. */
const LINGER_MS = 300;
/** The interval at which a stop checks for the end of a group. */
const LOOK_EVERY_MS = 5;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Asks a process to end; it has `graceMs` for that, or the grace that was given at its start. */
export type EndProcess = (graceMs?: number) => void;

/** `stop` registers a listener for the stop, calling it at once if that has happened, and returns how to take it back. */
export function spawnGroup(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  stop: (listener: EndProcess) => () => void,
  graceMs: number,
): OwnedProcess {
  refuseUnknown("ctx.spawn()", options, OPTIONS);
  const mark = crypto.randomUUID();
  const child = start(command, args, options, mark);
  const exit = exitOf(child, command, options.cwd);
  const cap = options.maxOutputBytes ?? MAX_OUTPUT_BYTES;
  const stdout = collectOutput(cap);
  const stderr = collectOutput(cap);
  child.stdout.on("data", (chunk: Buffer | string) => stdout.add(chunk));
  child.stderr.on("data", (chunk: Buffer | string) => stderr.add(chunk));
  // A pipe broken by the child's end is no failure of its own: `exit` reports it.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  if (options.input !== undefined) child.stdin.end(options.input);

  const settled = pipesSettled(child, exit);
  const output = exit.then(async (ended) => {
    await settled;
    return { ...ended, stdout: stdout.bytes().toString(), stderr: stderr.bytes().toString() };
  });
  output.catch(() => {});

  const { kill, release, strays } = ending(child, mark, stop, graceMs);
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exit,
    output,
    lines: () => readLines(child.stdout, stdout.bytes()),
    kill: (signal = "SIGTERM") => kill(signal),
    strays,
    release() {
      exit.then(
        () => letGo(child),
        () => {},
      );
      return release();
    },
  };
}

type Child = ChildProcess.ChildProcessWithoutNullStreams;

function start(command: string, args: readonly string[], options: SpawnOptions, mark: string): Child {
  const { cwd, shell } = options;
  const env = { ...(options.env ?? process.env), [MARK_VARIABLE]: mark };
  let child: Child;
  try {
    child = builtIn("node:child_process").spawn(command, args, {
      cwd,
      env,
      shell,
      stdio: "pipe",
      detached: !isWindows,
      windowsHide: true,
    });
  } catch (error) {
    throw cannotStart(command, cwd, error);
  }
  // With no file descriptors left there are no streams.
  if (child.stdout) return child;
  child.on("error", () => {});
  throw cannotStart(command, cwd, new Error("too many open files"));
}

const isWindows = process.platform === "win32";

function cannotStart(command: string, cwd: string | undefined, cause: unknown): Error {
  const { code, message } = cause as NodeJS.ErrnoException;
  // The system says ENOENT for either.
  const noFolder = code === "ENOENT" && cwd !== undefined && !existsSync(cwd);
  const why = noFolder
    ? `the folder ${cwd} does not exist`
    : code === "ENOENT"
      ? "there is no such command (ENOENT)"
      : code === "EACCES"
        ? "it may not be executed (EACCES)"
        : message;
  return Object.assign(new Error(`Cannot start ${command}: ${why}.`, { cause }), { code });
}

function exitOf(child: Child, command: string, cwd: string | undefined): Promise<ProcessExit> {
  const exit = new Promise<ProcessExit>((resolve, reject) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.on("error", (error) => reject(cannotStart(command, cwd, error)));
  });
  exit.catch(() => {});
  return exit;
}

/** Resolves when both pipes are closed, or silent after the command's end. */
function pipesSettled(child: Child, exit: Promise<unknown>): Promise<void> {
  const pipes = [child.stdout, child.stderr];
  let heard = false;
  let rounds = 0;
  for (const pipe of pipes) pipe.on("data", () => (heard = true));
  return new Promise((resolve) => {
    child.once("close", () => resolve());
    const listen = () => {
      heard = false;
      // Two rounds of the event loop after the timer: the contents of the pipe have been read, even if the loop was blocked.
      setTimeout(() => setImmediate(() => setImmediate(judge)), QUIET_MS);
    };
    const judge = () => {
      if (pipes.every((pipe) => pipe.closed)) return resolve();
      // Its reader is slow: all that the command wrote is still to come.
      if (pipes.some((pipe) => !pipe.closed && (pipe.isPaused() || pipe.readableLength > 0))) return listen();
      if (heard && ++rounds < MAX_ROUNDS) return listen();
      resolve();
    };
    exit.then(listen, () => resolve());
  });
}

/** A pipe held open by something outside the group would keep this process alive. */
function letGo(child: Child): void {
  const pipes = [child.stdin, child.stdout, child.stderr];
  if (pipes.every((pipe) => pipe.closed)) return;
  setTimeout(() => {
    for (const pipe of pipes) pipe.destroy();
  }, 2 * QUIET_MS).unref();
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Invariant 1. */
function ending(child: Child, mark: string, stop: (listener: EndProcess) => () => void, ownGraceMs: number) {
  const { pid } = child;
  if (pid === undefined) return { kill: () => false, release: () => Promise.resolve(), strays: () => [] };
  let unregister = () => {};
  const timers: NodeJS.Timeout[] = [];
  let isEnding = false;
  let isGone = false;
  /** When strays that are still alive count as survivors of a stop; undefined if none was made. */
  let survivesAt: number | undefined;
  const strays = new Strays(pid, mark);
  const group: ProcessGroup = processGroup(pid, strays, () => {
    isGone = true;
    unregister();
  });
  child.once("exit", () => group.leaderEnded());
  // Not a reason to keep this process alive: its exit kills the group too.
  const later = (graceMs: number, run: () => void) =>
    timers.push(setTimeout(run, Math.min(graceMs, MAX_TIMER_MS)).unref());
  const killStrays = (signal: NodeJS.Signals) => {
    strays.look();
    strays.signal(signal);
  };
  const end = (graceMs: number) => {
    if (isEnding || !group.signal("SIGTERM")) return;
    isEnding = true;
    later(graceMs, () => group.signal("SIGKILL"));
  };
  unregister = stop((graceMs = ownGraceMs) => {
    if (survivesAt !== undefined) return;
    survivesAt = performance.now() + graceMs + LINGER_MS;
    // A stray is found by its parent, which may be in the group and end with it.
    strays.look();
    end(graceMs);
    strays.signal("SIGTERM");
    later(graceMs, () => killStrays("SIGKILL"));
  });
  if (isGone) unregister();
  /** Resolves when the group has ended; after a stop, when no stray is left either, or when those that are left survive it. */
  const gone = async () => {
    while (!isGone && !group.isEmpty()) await sleep(LOOK_EVERY_MS);
    if (survivesAt === undefined) return;
    while (performance.now() < survivesAt) {
      if (strays.alive().length > 0) await sleep(LOOK_EVERY_MS);
      else if (strays.look()) strays.signal("SIGKILL");
      else break;
    }
    for (const timer of timers) clearTimeout(timer);
  };
  return {
    kill(signal: NodeJS.Signals) {
      killStrays(signal);
      return group.signal(signal);
    },
    release() {
      end(ownGraceMs);
      return gone();
    },
    strays() {
      strays.look();
      return strays.alive();
    },
  };
}
