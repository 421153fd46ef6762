import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { collectOutput } from "./collect-output.ts";
import { type OwnedProcess, type SpawnOptions, spawnGroup } from "./spawn.ts";

const started: OwnedProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** A stop that a test can pull. */
function stopper() {
  const listeners = new Set<() => void>();
  return {
    listeners,
    stop: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    pull: () => {
      for (const listener of [...listeners]) listener();
    },
  };
}

function run(command: string, args: string[] = [], options: SpawnOptions = {}, stop = stopper(), graceMs = 100) {
  const child = spawnGroup(command, args, options, stop.stop, graceMs);
  started.push(child);
  return child;
}

const sh = (script: string, options?: SpawnOptions, stop?: ReturnType<typeof stopper>, graceMs?: number) =>
  run("sh", ["-c", script], options, stop, graceMs);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== "linux") return true;
    // A dead process that its parent has not collected still has a number.
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function until(what: () => boolean): Promise<void> {
  for (let i = 0; i < 2_000; i++) {
    if (what()) return;
    await sleep(10);
  }
  throw new Error("It did not happen.");
}

/** The numbers that a script prints, one per line, `n` of them. */
async function pids(child: OwnedProcess, n: number): Promise<number[]> {
  const found: number[] = [];
  for await (const line of child.lines()) {
    found.push(Number(line));
    if (found.length === n) break;
  }
  expect(found).toHaveLength(n);
  return found;
}

const stubborn = "trap '' TERM; echo $$; while :; do sleep 0.05; done";

describe("on a stop", () => {
  it("a shell and its grandchildren die as a group, also those that ignore SIGTERM", async () => {
    const stop = stopper();
    const child = sh(`sh -c "${stubborn.replace("$$", "\\$\\$")}" & sleep 600 & echo $!; echo $$; wait`, {}, stop);
    const all = await pids(child, 3);
    expect(all.every(isAlive)).toBe(true);
    stop.pull();
    await until(() => !all.some(isAlive));
    expect(await child.exit).toMatchObject({ code: null });
    expect(stop.listeners.size).toBe(0);
  });

  it("a process may end within its grace, and its output is kept", async () => {
    const stop = stopper();
    const child = sh("trap 'echo bye; exit 3' TERM; echo $$; while :; do sleep 0.02; done", {}, stop, 30_000);
    const [pid] = await pids(child, 1);
    const before = performance.now();
    stop.pull();
    expect(await child.output).toMatchObject({ code: 3, signal: null, stdout: `${pid}\nbye\n` });
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  it("a process that ignores SIGTERM is killed after its grace, not before", async () => {
    const stop = stopper();
    const child = sh(stubborn, {}, stop, 300);
    await pids(child, 1);
    const before = performance.now();
    stop.pull();
    expect(await child.exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(performance.now() - before).toBeGreaterThan(250);
  });

  it("grandchildren die also when the command itself ended long ago", async () => {
    const stop = stopper();
    const child = sh(`(${stubborn.replace("$$", "started")}) & echo $!`, {}, stop);
    const [pid] = (await child.output).stdout.split("\n").map(Number).filter(Boolean);
    await sleep(300);
    expect(isAlive(pid!)).toBe(true);
    stop.pull();
    await until(() => !isAlive(pid!));
  });

  /** A command whose child leaves the process group in this way, and prints its number. */
  const leaves = (how: string) => `${how} sh -c '${stubborn.replaceAll("'", `'"'"'`)}' & sleep 600; wait`;
  it.runIf(process.platform === "linux").each([
    ["setsid", leaves("setsid")],
    ["nohup setsid", `nohup ${leaves("setsid")} 2>/dev/null`],
    ["setsid and no environment", leaves("env -i setsid")],
    ["setsid, when its parent has ended", `(${leaves("setsid").replace(" & sleep 600; wait", " &")}); sleep 600`],
  ])("TS1: a child that left the group by %s dies with it", async (_, script) => {
    const stop = stopper();
    const child = sh(script, {}, stop);
    const [pid] = await pids(child, 1);
    expect(child.strays()).toContainEqual({ pid, command: expect.stringContaining("sh -c") });
    stop.pull();
    await child.release();
    expect(isAlive(pid!)).toBe(false);
    expect(child.strays()).toEqual([]);
  });

  it("ten stops are one, and a stop before the start ends the process at once", async () => {
    const stop = stopper();
    const child = sh("trap 'echo term' TERM; echo $$; while :; do sleep 0.02; done", {}, stop, 2_000);
    const [pid] = await pids(child, 1);
    for (let i = 0; i < 10; i++) stop.pull();
    expect((await child.output).stdout).toBe(`${pid}\nterm\n`);

    const before = stopper();
    before.stop = (listener) => {
      listener();
      return () => true;
    };
    expect(await sh("sleep 600", {}, before).exit).toEqual({ code: null, signal: "SIGTERM" });
  });
});

describe("when the call ends", () => {
  it("what still runs is ended as a group", async () => {
    const child = sh(`sh -c "${stubborn.replace("$$", "\\$\\$")}" & echo $$; wait`);
    const all = await pids(child, 2);
    child.release();
    child.release();
    await until(() => !all.some(isAlive));
  });

  it("nothing happens if all has ended", async () => {
    const stop = stopper();
    const child = sh("echo hi", {}, stop);
    await child.output;
    expect(stop.listeners.size).toBe(0);
    child.release();
    expect(child.kill()).toBe(false);
    expect(await child.output).toEqual({ code: 0, signal: null, stdout: "hi\n", stderr: "" });
  });
});

describe("exit and output", () => {
  it("report a code other than 0, without a rejection", async () => {
    const child = sh("echo out; echo err >&2; exit 7");
    expect(await child.exit).toEqual({ code: 7, signal: null });
    expect(await child.output).toEqual({ code: 7, signal: null, stdout: "out\n", stderr: "err\n" });
  });

  it("report a signal sent by kill, which reaches the whole group", async () => {
    const child = sh("sleep 600 & echo $!; wait");
    const [pid] = await pids(child, 1);
    expect(child.kill("SIGINT") || child.kill("SIGKILL")).toBe(true);
    child.kill("SIGKILL");
    await child.exit;
    await until(() => !isAlive(pid!));
  });

  it("reject for a command that cannot be started, without an unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listener = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", listener);
    const stop = stopper();
    run("belay-no-such-command", [], { input: "x" }, stop);
    await sleep(50);
    process.off("unhandledRejection", listener);
    expect(unhandled).toEqual([]);
    expect(stop.listeners.size).toBe(0);

    const child = run("belay-no-such-command");
    const words = "Cannot start belay-no-such-command: there is no such command (ENOENT).";
    await expect(child.exit).rejects.toThrow(words);
    await expect(child.output).rejects.toThrow(words);
    expect(child.kill()).toBe(false);
    child.release();
    await expect(run("sh", [], { cwd: "/no/such" }).exit).rejects.toThrow("the folder /no/such does not exist");
    await expect(run(fileURLToPath(import.meta.url)).exit).rejects.toThrow("it may not be executed (EACCES)");
    expect(() => run("echo", ["a\0b"])).toThrow("Cannot start echo: ");
  });

  it("do not wait for a grandchild that holds the pipes open, which survives and is listed", async () => {
    const child = sh("setsid sleep 600 & echo $!; exit 0");
    const { stdout, code } = await child.output;
    expect(code).toBe(0);
    await child.release();
    if (process.platform === "linux") expect(child.strays()).toEqual([{ pid: Number(stdout), command: "sleep 600" }]);
    await until(() => child.stdout.destroyed);
    process.kill(Number(stdout));
  });

  it("do not wait for a grandchild that keeps writing", async () => {
    const child = sh("(while :; do echo more; sleep 0.02; done) & echo first");
    expect(await child.output).toMatchObject({ code: 0, stdout: expect.stringContaining("first\n") });
    expect(child.stdout.closed).toBe(false);
    child.release();
    await until(() => child.stdout.closed);
  });

  it("hold everything a command wrote, also when the event loop was busy as it ended", async () => {
    const child = sh("head -c 300000 /dev/zero | tr '\\0' x");
    const busyUntil = performance.now() + 400;
    while (performance.now() < busyUntil);
    expect((await child.output).stdout).toHaveLength(300_000);
  });

  it("keep the beginning and the end up to a cap, and say how much is missing", async () => {
    const child = sh("seq 1 100000; echo problem >&2", { maxOutputBytes: 20 });
    const { stdout, stderr } = await child.output;
    expect(stdout).toBe("1\n2\n3\n4\n5\n\n[… 588875 bytes left out …]\n99\n100000\n");
    expect(stderr).toBe("problem\n");
  });

  it("cut no character in two", () => {
    const collected = collectOutput(10);
    for (const chunk of ["aé", "漢字", "漢字", "漢字b"]) collected.add(Buffer.from(chunk));
    expect(String(collected.bytes())).toBe("aé\n[… 15 bytes left out …]\n字b");
  });
});

describe("streams", () => {
  it("the command reads the input to its end", async () => {
    expect((await run("cat", [], { input: "héllo\n" }).output).stdout).toBe("héllo\n");
    expect((await run("cat", [], { input: "" }).output).stdout).toBe("");
    expect((await run("true", [], { input: "x".repeat(1_000_000) }).output).code).toBe(0);
  });

  it("stdin can be written to, and stdout read, beside the collected output", async () => {
    const child = run("cat");
    child.stdout.setEncoding("utf8");
    const seen: string[] = [];
    child.stdout.on("data", (text: string) => seen.push(text));
    child.stdin.write("one ");
    child.stdin.end("two");
    expect((await child.output).stdout).toBe("one two");
    expect(seen.join("")).toBe("one two");
  });

  it("lines come one by one while the command runs, whole, with the last one", async () => {
    const seen: string[] = [];
    const child = sh("printf 'a\\r\\n\\nb'; sleep 0.1; printf 'é\\nlast'");
    for await (const line of child.lines()) seen.push(line);
    expect(seen).toEqual(["a", "", "bé", "last"]);
    expect((await child.output).stdout).toBe("a\r\n\nbé\nlast");
  });

  it("lines asked for late begin with the first", async () => {
    const child = sh("echo a; echo b");
    await child.output;
    const seen: string[] = [];
    for await (const line of child.lines()) seen.push(line);
    expect(seen).toEqual(["a", "b"]);
  });

  it("a slow reader of lines misses none, and a reader that leaves holds nothing up", async () => {
    const slow = sh("seq 1 50000");
    let count = 0;
    for await (const line of slow.lines()) {
      if (++count % 10_000 === 0) await sleep(30);
      if (line === "50000") expect(count).toBe(50_000);
    }
    expect(count).toBe(50_000);
    expect((await slow.output).stdout.split("\n")).toHaveLength(50_001);

    const left = sh("seq 1 50000");
    for await (const _ of left.lines()) break;
    expect((await left.output).stdout.split("\n")).toHaveLength(50_001);
  });

  it("takes cwd, env and shell", async () => {
    const child = run('echo "$WORD $PWD"', [], { shell: true, cwd: "/", env: { WORD: "hi", PATH: process.env.PATH } });
    expect((await child.output).stdout).toBe("hi /\n");
  });
});

describe("when this process exits", () => {
  it("its processes are killed with it, by one listener", async () => {
    const source = fileURLToPath(new URL("./spawn.ts", import.meta.url));
    const script = `
      import { spawnGroup } from ${JSON.stringify(source)};
      const all = [1, 2].map(() => spawnGroup("sh", ["-c", ${JSON.stringify(stubborn)}], {}, () => () => {}, 100));
      for (const child of all) console.log((await child.lines().next()).value);
      console.log(process.listenerCount("exit"));
      process.exit(0);
    `;
    const tsx = fileURLToPath(new URL("../../../../node_modules/tsx/dist/cli.mjs", import.meta.url));
    const printed = execFileSync(process.execPath, [tsx, "--input-type=module", "-e", script], { encoding: "utf8" });
    const [first, second, listeners] = printed.trim().split("\n").map(Number);
    await until(() => ![first!, second!].some(isAlive));
    expect(listeners).toBeLessThanOrEqual(2);
  });
});
