// The real program without a terminal, and without a reader of its output.
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { jsonLines } from "../testing/asked.ts";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

const threadsOf = (lines: string) => jsonLines(lines).map(({ id }) => String(id));

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("a reader goes away", () => {
  test("a reader that goes away ends it, and the thread can be resumed", async () => {
    const home = program.home();
    const { child, ended, said } = home.start(["-p", "long 500", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "2" },
    });
    await said("paragraph 1");
    child.stdout!.destroy();
    expect((await ended).code).toBe(141);
    const on = await home.belay(["-p", "--continue", "--output-format", "json"]);
    expect(jsonLines(on.stdout)[0]).toMatchObject({ status: "completed" });
  });

  test("a reader that goes away takes no question back: it stays open, its answer counts, and nothing runs on", async () => {
    const wire = await wireServer();
    try {
      const home = program.home();
      mkdirSync(home.config);
      writeFileSync(join(home.config, "permissions.json"), `{ "rules": [{ "tool": "shell", "effect": "allow" }] }`);
      const command = "echo $$ > pid; while :; do echo on; sleep 0.1; done";
      wire.script(
        [
          { call: "shell", id: "c1", args: { command } },
          { call: "write", id: "c2", args: { path: "made", text: "after all\n" } },
        ],
        ["all done"],
      );
      const base = ["--base-url", wire.url, "--model", "m"];
      const args = ["-p", "go", "--ask", "pause", "--output-format", "stream-json", ...base];
      const { child, ended, said } = home.start(args);
      await said('"tool-progress"');
      const open = async () => (await home.belay(["inbox", "--json"])).stdout;
      let asked = "";
      while (asked === "") asked = await open();
      child.stdout!.destroy();
      const { code, stderr } = await ended;
      const [{ id, threadId }] = jsonLines(asked) as [{ id: string; threadId: string }];
      expect([code, stderr]).toEqual([
        141,
        `Waits for you: Create made? Answer with: belay answer ${id} yes\nResume with: belay --resume ${threadId}\n`,
      ]);
      const pid = Number(readFileSync(join(home.folder, "pid"), "utf8"));
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(await open()).toBe(asked);
      expect(await home.belay(["answer", id, "yes"])).toMatchObject({ code: 0 });
      expect(readFileSync(join(home.folder, "made"), "utf8")).toBe("after all\n");
      expect(await home.belay(["-p", "--continue", ...base])).toMatchObject({ code: 0, stdout: "all done\n" });
    } finally {
      await wire.close();
    }
  });
});

describe("output that cannot be written", () => {
  test("a reader that is gone before the last words, or before the help, is an exit code of 141 and no trace of a crash", async () => {
    const { start } = program.home();
    for (const args of [
      ["-p", "hello"],
      ["-p", "hello", "--output-format", "json"],
      ["--help"],
      ["threads", "--json"],
    ]) {
      const { child, ended } = start(args);
      child.stdout!.destroy();
      const { code, stderr } = await ended;
      expect([args, code, stderr]).toEqual([args, 141, ""]);
    }
  });

  test("a request stays open if the message about it is lost", async () => {
    const home = program.home();
    for (const format of ["text", "json"]) {
      const { child, ended } = home.start(["-p", "run touch made", "--ask", "pause", "--output-format", format]);
      child.stdout!.destroy();
      expect([format, (await ended).code]).toEqual([format, 141]);
    }
    expect(jsonLines((await home.belay(["inbox", "--json"])).stdout)).toHaveLength(2);
  });

  test.runIf(existsSync("/dev/full"))("a full disk is reported on stderr and by the exit code", async () => {
    const home = program.home();
    const full = openSync("/dev/full", "w");
    try {
      for (const args of [["-p", "hello"], ["-p", "hello", "--output-format", "stream-json"], ["rules"], ["--help"]]) {
        const { code, stderr } = await home.belay(args, { stdout: full });
        expect([args, code, stderr]).toEqual([args, 1, expect.stringContaining("The output could not be written")]);
      }
    } finally {
      closeSync(full);
    }
    expect(
      (await home.belay(["export", threadsOf((await home.belay(["threads", "--json"])).stdout).at(-1)!])).stdout,
    ).toContain("Hello.");
  });

  test("without a reader of stderr the run ends as usual", async () => {
    const { start } = program.home();
    const { child, ended } = start(["-p", "fail", "--output-format", "json"]);
    child.stderr!.destroy();
    const { code, stdout } = await ended;
    expect([code, jsonLines(stdout)[0]]).toMatchObject([1, { status: "failed", exitCode: 1 }]);
  });
});
