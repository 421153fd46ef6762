// For tests only: the program as processes without a terminal, several of them on one data folder.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { bundledProgram, type Program } from "./program.ts";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves, with all that was written, when this is in it. */
  said(text: string | RegExp): Promise<string>;
}

interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Its working folder. Default: the folder. */
  readonly cwd?: string;
  /** Shell commands before it. */
  readonly first?: string;
  /** A file that gets the output, in place of the test. */
  readonly stdout?: number;
}

/** A person's folders: threads, settings, and the folder that the threads are about. */
export interface Home {
  readonly folder: string;
  readonly data: string;
  readonly config: string;
  /** Runs it to its end; `input` is written to stdin, which is closed. */
  belay(args: readonly string[], options?: StartOptions & { readonly input?: string }): Promise<Ended>;
  start(args: readonly string[], options?: StartOptions): Started;
}

/** Bundles once for a test file, and ends and removes everything after it. */
export function testProgram(): { home(): Home } {
  let program: Program | undefined;
  const homes: string[] = [];
  const children = new Set<ChildProcess>();
  beforeAll(async () => {
    program = await bundledProgram();
  });
  afterEach(() => {
    for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
    children.clear();
    for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  afterAll(() => program?.close());
  return { home };

  function home(): Home {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "belay-home-")));
    homes.push(base);
    const folder = join(base, "folder");
    const data = join(base, "data");
    const config = join(base, "config");
    mkdirSync(folder);
    // Nothing of the environment of the tests: no keys, no language, no settings.
    const { PATH } = process.env;
    const env = { PATH, HOME: base, BELAY_DATA: data, BELAY_CONFIG: config, BELAY_MODEL: "demo", LANG: "en_US.UTF-8" };
    const begin = (args: readonly string[], { env: more = {}, cwd = folder, stdout, first }: StartOptions) => {
      const command = [process.execPath, program!.main, ...args];
      const [file = "", ...rest] =
        first === undefined ? command : ["sh", "-c", `${first}; exec "$@"`, "sh", ...command];
      const child = spawn(file, rest, {
        cwd,
        env: { ...env, ...more },
        stdio: ["pipe", stdout ?? "pipe", "pipe"],
      });
      children.add(child);
      return watch(child);
    };
    return {
      folder,
      data,
      config,
      start: (args, options = {}) => begin(args, options),
      belay: (args, options = {}) => {
        const { child, ended } = begin(args, options);
        child.stdin!.on("error", () => {});
        child.stdin!.end(options.input ?? "");
        return ended;
      },
    };
  }
}

function watch(child: ChildProcess): Started {
  let stdout = "";
  let stderr = "";
  const looks = new Set<() => void>();
  const heard = (keep: (text: string) => void) => (text: string) => {
    keep(text);
    for (const look of [...looks]) look();
  };
  child.stdout?.setEncoding("utf8").on(
    "data",
    heard((text) => (stdout += text)),
  );
  child.stderr!.setEncoding("utf8").on(
    "data",
    heard((text) => (stderr += text)),
  );
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
  const said = (wanted: string | RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const all = `${stdout}\n${stderr}`;
        if (typeof wanted === "string" ? !all.includes(wanted) : !wanted.test(all)) return;
        looks.delete(look);
        resolve(all);
      };
      looks.add(look);
      look();
      void ended.then(() => {
        if (looks.has(look)) reject(new Error(`It ended without ${wanted}:\n${stdout}\n${stderr}`));
      });
    });
  return { child, ended, said };
}
