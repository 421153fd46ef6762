// The real program without a terminal: one run, by -p or by a pipe.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

const jsonLines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("one answer", () => {
  test("-p prints the answer and nothing else, and ends with 0", async () => {
    const { belay } = program.home();
    const { code, stdout, stderr } = await belay(["-p", "hello"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Hello\. I am no real model: [^\n]+\n$/);
  });

  test("the prompt comes by a pipe, by - and, with --stdin, after the argument", async () => {
    const { belay } = program.home();
    expect((await belay([], { input: "hello\n" })).stdout).toContain("Hello.");
    expect((await belay(["-p", "-"], { input: "hello" })).stdout).toContain("Hello.");
    expect((await belay(["-p", "Which files mention", "--stdin"], { input: "session?" })).stdout).toContain("session");
    // With a prompt it does not wait for a process that holds its input open.
    const { start } = program.home();
    expect((await start(["-p", "hello"]).ended).stdout).toContain("Hello.");
  });

  test("json is one object; stream-json is every event as a line, then the same object", async () => {
    const { belay, folder } = program.home();
    writeFileSync(join(folder, "README.md"), "# A\n\nWords.\n");
    const [result] = jsonLines((await belay(["-p", "read README.md", "--output-format", "json"])).stdout);
    expect(result).toMatchObject({
      type: "result",
      status: "completed",
      exitCode: 0,
      model: "demo (offline)",
      usage: {},
    });
    expect(result).toMatchObject({ threadId: expect.any(String), text: expect.stringContaining("Words.") });
    const lines = jsonLines((await belay(["-p", "read README.md", "--output-format", "stream-json"])).stdout);
    const types = lines.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    expect(types).toEqual([
      "state",
      "run-start",
      "state",
      "message",
      "turn-start",
      "text-delta",
      "message",
      "tool-start",
      "tool-end",
      "turn-end",
      "turn-start",
      "text-delta",
      "message",
      "turn-end",
      "run-end",
      "state",
      "result",
    ]);
    const seqs = lines.slice(0, -1).map(({ seq }) => seq as number);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  });

  test("text of a model or a file cannot draw: escapes are taken out of text, and spelt in JSON", async () => {
    const { belay, folder } = program.home();
    writeFileSync(join(folder, "evil.txt"), "a\u001b]0;title\u0007b\u001b[2Jc\u009b31md\u202ee\n");
    const text = (await belay(["-p", "read evil.txt"])).stdout;
    expect(text).toContain("abcde");
    for (const format of ["text", "json", "stream-json"]) {
      const { stdout } = await belay(["-p", "read evil.txt", "--output-format", format]);
      expect(stdout, format).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
    }
  });
});

describe("how it ends", () => {
  test("a failure is 1, with the message and the hint on stderr; --continue tries again", async () => {
    const wire = await wireServer();
    try {
      const { belay } = program.home();
      wire.script({ status: 400, message: "bad request here" });
      const base = ["--base-url", wire.url, "--model", "m"];
      const failed = await belay(["-p", "hi", ...base]);
      expect([failed.code, failed.stdout]).toEqual([1, ""]);
      expect(failed.stderr).toContain("bad request here");
      expect(failed.stderr).toContain("continuing repeats only this call");
      wire.script(["second time"]);
      expect(await belay(["-p", "--continue", ...base])).toMatchObject({ code: 0, stdout: "second time\n" });
      wire.script([]);
      const silent = { code: 0, stdout: "", stderr: "The model ended without an answer.\n" };
      expect(await belay(["-p", "hi", ...base])).toMatchObject(silent);
      expect(
        (await wire.arrived(2)).body.messages.filter(({ role }: { role: string }) => role === "user"),
      ).toHaveLength(1);
    } finally {
      await wire.close();
    }
  });

  test("a prompt and a text that is piped in are one input, also without --stdin; a silent pipe is reported", async () => {
    const wire = await wireServer();
    try {
      const { belay } = program.home();
      wire.script(["one"], ["two"], ["three"]);
      const run = (first: string) => belay(["-p", "review this", "--base-url", wire.url, "--model", "m"], { first });
      const words = "printf 'the piped words'";
      expect(await run(`mkfifo a; (${words} > a) & exec < a`)).toMatchObject({ code: 0, stdout: "one\n", stderr: "" });
      expect(await run(`${words} > b; exec < b`)).toMatchObject({ code: 0, stdout: "two\n", stderr: "" });
      const silent = await run("mkfifo c; (exec sleep 20 > c 2> /dev/null) & exec < c");
      expect(silent).toMatchObject({ code: 0, stdout: "three\n" });
      expect(silent.stderr).toBe("Nothing came by the pipe within a second: it was not read. --stdin waits for it.\n");
      const said = wire.requests.map(({ body }) => body.messages.at(-1).content);
      expect(said).toEqual(["review this\n\nthe piped words", "review this\n\nthe piped words", "review this"]);
    } finally {
      await wire.close();
    }
  });

  test("wrong usage is 2, with a hint: options, commands, models, threads, no prompt", async () => {
    const { belay } = program.home();
    for (const [args, words] of [
      [["--colour"], "unknown option '--colour'"],
      [["--contniue"], "(Did you mean --continue?)"],
      [["thraeds"], "Did you mean threads?"],
      [["interupt", "mwo4uxml"], "Did you mean interrupt?"],
      [["anwser", "mwo4uxml", "yes"], "Did you mean answer?"],
      [["log"], "missing required argument 'thread'"],
      [["-p", "x", "--output-format", "xml"], "Allowed choices are text, json, stream-json"],
      [["-p", "x", "--model", "gpt-9"], "There is no provider for the model"],
      [["-p", "x", "--resume", "nope"], 'There is no thread "nope".'],
      [["-p", "x", "--continue"], "There is no thread of"],
      [["-p"], "There is no prompt."],
      [["answer", "nope", "yes"], 'There is no request "nope".'],
      [["-p", "x", "-C", "/no/such/folder"], "/no/such/folder is not a folder."],
    ] as const) {
      const { code, stdout, stderr } = await belay(args);
      expect([code, stdout], args.join(" ")).toEqual([2, ""]);
      expect(stderr, args.join(" ")).toContain(words);
    }
  });

  test("a rules file with a slip in it stops everything, with the place of the slip", async () => {
    const { belay, config } = program.home();
    mkdirSync(config);
    writeFileSync(join(config, "permissions.json"), `{ "rules": [{ "tool": "shell", "effect": "alow" }] }`);
    const { code, stderr } = await belay(["-p", "hello"]);
    expect(code).toBe(2);
    expect(stderr).toContain('permissions.json cannot be used: rule 0: effect is "alow"');
  });

  test("unattended, a call that needs a person is denied and the run continues; a rule in the file allows it", async () => {
    const { belay, folder, config } = program.home();
    const denied = await belay(["-p", "run touch made"]);
    expect(denied.code).toBe(0);
    expect(denied.stdout).toContain("nobody is there to be asked");
    expect(existsSync(join(folder, "made"))).toBe(false);
    mkdirSync(config);
    writeFileSync(
      join(config, "permissions.json"),
      `{ "rules": [{ "tool": "shell", "args": { "command": "touch *" }, "effect": "allow" }] }`,
    );
    expect((await belay(["-p", "run touch made"])).code).toBe(0);
    expect(existsSync(join(folder, "made"))).toBe(true);
  });

  test("with --ask pause it waits for a person: 3, and says how to answer", async () => {
    const { belay } = program.home();
    const { code, stdout, stderr } = await belay(["-p", "run touch made", "--ask", "pause", "--output-format", "json"]);
    const [result] = jsonLines(stdout);
    expect([code, result!.status, result!.interruptType]).toEqual([3, "interrupted", "tool_interrupt"]);
    const [{ id }] = result!.interrupts as [{ id: string }];
    expect(stderr).toContain(`belay answer ${id} yes`);
    expect(JSON.stringify(result)).not.toContain("token");
  });
});

describe("stopping", () => {
  test("D42: SIGINT stops the run, prints the receipt, ends with 130, and --continue resumes", async () => {
    const home = program.home();
    const { child, ended, said } = home.start(["-p", "long 200", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "5" },
    });
    await said("paragraph 1");
    child.kill("SIGINT");
    const { code, stdout, stderr } = await ended;
    const lines = jsonLines(stdout);
    expect(code).toBe(130);
    expect(lines.at(-1)).toMatchObject({
      type: "result",
      status: "interrupted",
      interruptType: "user_interrupt",
      exitCode: 130,
      receipt: { accepted: true },
    });
    expect(stderr).toMatch(/^Stopped\.\nResume with: belay --resume \S+\n$/);
    // S3: the shown text is the kept text.
    const told = lines
      .filter(({ type }) => type === "text-delta")
      .map(({ text }) => text)
      .join("");
    expect((lines.at(-1) as { partialText: string }).partialText).toBe(told);
    const on = await home.belay(["-p", "--continue", "--output-format", "json"]);
    expect(jsonLines(on.stdout)[0]).toMatchObject({ status: "completed", threadId: lines.at(-1)!.threadId });
    expect((jsonLines(on.stdout)[0] as { text: string }).text).toContain("paragraph 200 of 200");
  });

  test("S1: SIGINT closes the provider's socket, and a command that runs dies with all it started", async () => {
    const wire = await wireServer();
    try {
      const home = program.home();
      mkdirSync(home.config);
      writeFileSync(join(home.config, "permissions.json"), `{ "default": "allow" }`);
      const base = ["--base-url", wire.url, "--model", "m"];
      wire.script(["word", { stall: true }]);
      const stalled = home.start(["-p", "hi", ...base, "--output-format", "stream-json"]);
      await stalled.said("text-delta");
      stalled.child.kill("SIGINT");
      expect((await stalled.ended).code).toBe(130);
      expect(await (await wire.arrived(1)).ended).toBe("closed");

      const command = "sleep 300 & echo $! > pid; echo up; wait";
      wire.script([{ call: "shell", id: "c1", args: { command } }]);
      const running = home.start(["-p", "go", ...base, "--output-format", "stream-json"]);
      await running.said('"tool-progress"');
      const pid = Number(readFileSync(join(home.folder, "pid"), "utf8"));
      expect(process.kill(pid, 0)).toBe(true);
      running.child.kill("SIGINT");
      const { code, stderr } = await running.ended;
      // On a busy machine its end may come after the grace.
      expect([code, stderr]).toEqual([
        130,
        expect.stringMatching(/Stopped\. (Stopped|Left behind, still running): shell\./),
      ]);
      // A process that inherits it may take a moment to notice its end.
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
    } finally {
      await wire.close();
    }
  });

  test("C2: killed with SIGKILL, nothing recorded is lost, and --continue resumes", async () => {
    const home = program.home();
    writeFileSync(join(home.folder, "README.md"), "# A\n\nWords.\n");
    const { child, ended, said } = home.start(["-p", "Summarise this folder", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "20" },
    });
    await said('"tool-end"');
    child.kill("SIGKILL");
    await ended;
    const on = jsonLines((await home.belay(["-p", "--continue", "--output-format", "stream-json"])).stdout);
    expect(on.at(-1)).toMatchObject({ status: "completed" });
    expect(on.filter(({ type, tool }) => type === "tool-start" && tool === "list")).toEqual([]);
  });

  test("TS3: SIGTERM stops the run: its text is kept and printed, with how to resume, and the exit code is 143", async () => {
    const wire = await wireServer();
    try {
      const home = program.home();
      wire.script(["Half an answer", { stall: true }], [" and its rest."]);
      const base = ["--base-url", wire.url, "--model", "m"];
      const { child, ended } = home.start(["-p", "hi", ...base]);
      // Nothing is printed before its end: the words are on their way once the request was answered.
      await wire.arrived(1);
      await new Promise((resolve) => setTimeout(resolve, 500));
      const before = performance.now();
      child.kill("SIGTERM");
      const { code, stdout, stderr } = await ended;
      expect(performance.now() - before).toBeLessThan(4_000);
      expect([code, stdout]).toEqual([143, "Half an answer\n"]);
      expect(stderr).toMatch(/^Stopped\.\n\S.*belay --resume \S+\n$/);
      expect(await (await wire.arrived(1)).ended).toBe("closed");
      const on = await home.belay(["-p", "--continue", ...base]);
      expect(on).toMatchObject({ code: 0, stdout: "Half an answer and its rest.\n" });
    } finally {
      await wire.close();
    }
  });

  test("P16: after SIGTERM the thread continues elsewhere", async () => {
    const home = program.home();
    const { child, ended, said } = home.start(["-p", "long 100", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "5" },
    });
    await said("paragraph 1");
    child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
    const on = jsonLines((await home.belay(["-p", "--continue", "--output-format", "json"])).stdout);
    expect(on[0]).toMatchObject({ status: "completed" });
  });

  test("on SIGHUP it ends with 129, however often it comes; on a second SIGTERM at once", async () => {
    const home = program.home();
    mkdirSync(home.config);
    writeFileSync(join(home.config, "permissions.json"), `{ "default": "allow" }`);
    const told = async (signal: "SIGHUP" | "SIGTERM", prompt: string, begun: string) => {
      const { child, ended, said } = home.start(["-p", prompt, "--output-format", "stream-json"], {
        env: { BELAY_DEMO_DELAY_MS: "5" },
      });
      await said(begun);
      const again = setInterval(() => child.kill(signal), 1);
      const { code, stdout } = await ended;
      clearInterval(again);
      return [code, jsonLines(stdout.slice(0, stdout.lastIndexOf("\n"))).at(-1)!.type];
    };
    expect(await told("SIGHUP", "long 20", "paragraph 1")).toEqual([129, "result"]);
    // A command that is deaf makes the stop wait for its grace.
    const deaf = "run trap '' TERM; echo be''gun; while :; do sleep 1; done";
    expect(await told("SIGTERM", deaf, "begun")).toEqual([143, "tool-progress"]);
  });
});

describe("which thread", () => {
  test("--continue is the last one of this folder, --resume any by the beginning of its id, --fork leaves it as it is", async () => {
    const home = program.home();
    const other = join(home.folder, "other");
    mkdirSync(other);
    const run = async (...args: string[]) =>
      jsonLines((await home.belay(["-p", ...args, "--output-format", "json"])).stdout)[0] as {
        threadId: string;
        text: string;
      };
    const first = await run("hello");
    const elsewhere = await run("hello", "-C", other);
    expect((await run("hello", "--continue")).threadId).toBe(first.threadId);
    expect((await run("list", "--resume", elsewhere.threadId)).text).toContain("0 files");
    const fork = await run("hello", "--resume", first.threadId.slice(0, 14), "--fork");
    expect(fork.threadId).not.toBe(first.threadId);
    const count = async (thread: string) =>
      jsonLines((await home.belay(["log", thread, "--json"])).stdout).filter(({ type }) => type === "message").length;
    expect([await count(first.threadId), await count(fork.threadId)]).toEqual([4, 6]);
  });
});
