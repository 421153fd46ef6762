// D40: whatever ends the program, the terminal is as it was.

import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { wireServer } from "@belay/testkit/wire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledProgram, type Program } from "../testing/program.ts";
import { SEEN_MS, testTalks, write } from "../testing/talk.ts";
import { CTRL_C, CTRL_D, CTRL_Z, ENTER, ESC, type Terminal } from "../testing/terminal.ts";

let program: Program;
beforeAll(async () => {
  program = await bundledProgram();
});
afterAll(() => program?.close());

const { talk } = testTalks(wireServer, "deaf-app");

const PROMPT = "Ask, or tell it";

/** Starts a shell that runs the program, then prints its exit code and the modes of the terminal; `pid` is the program's. */
async function inShell(env: Record<string, string> = {}): Promise<Terminal & { pid(): number }> {
  const folder = mkdtempSync(join(program.place, "out-"));
  const file = join(folder, "pid");
  const inner = `echo \\$\\$ > '${file}'; exec '${process.execPath}' '${program.main}' --model demo --no-mcp`;
  // It stays a moment: the last bytes to a pty can be lost with its end.
  const script = `cd '${folder}'; bash -c "${inner}"; echo "exit $?"; stty -a; sleep 0.5`;
  const options = { env: { BELAY_DATA: join(folder, ".data"), BELAY_DEMO_DELAY_MS: "60", ...env } };
  const terminal = program.openShell(script, options);
  await terminal.untilSeen(PROMPT);
  return Object.assign(terminal, { pid: () => Number(readFileSync(file, "utf8")) });
}

async function speaking(env: Record<string, string> = {}) {
  const terminal = await inShell(env);
  terminal.press(`Summarise this folder${ENTER}`);
  await terminal.untilSeen("First I look");
  return terminal;
}

/** The program was followed by `stty -a`. */
async function untilRestored(terminal: Terminal, code: number): Promise<void> {
  await terminal.until(`exit ${code}`);
  await terminal.until(/ isig icanon iexten echo /);
  isRestored(terminal.raw);
}

function isRestored(raw: string): void {
  for (const [name, on, off] of [
    ["bracketed paste", `${ESC}[?2004h`, `${ESC}[?2004l`],
    ["the hidden cursor", `${ESC}[?25l`, `${ESC}[?25h`],
    ["the held drawing", `${ESC}[?2026h`, `${ESC}[?2026l`],
  ] as const) {
    expect(raw.lastIndexOf(off), `${name} is left on`).toBeGreaterThan(raw.lastIndexOf(on));
  }
}

test("npm start opens it, and hands its end on", async () => {
  const folder = mkdtempSync(join(program.place, "start-"));
  const start = fileURLToPath(new URL("../../../../scripts/start.mjs", import.meta.url));
  const script = `'${process.execPath}' '${start}' --model demo --no-mcp; echo "exit $?"; stty -a`;
  const terminal = program.openShell(script, { cwd: folder, env: { BELAY_DATA: join(folder, ".data") } });
  await terminal.untilSeen(PROMPT);
  terminal.press(`Summarise this folder${ENTER}`);
  await terminal.untilSeen("First I look");
  terminal.press(ESC);
  await terminal.until("── stopped");
  terminal.press(CTRL_D);
  await untilRestored(terminal, 0);
});

test("D39: with its input piped, it leaves the modes of a real terminal as they are, also while it answers", async () => {
  const folder = mkdtempSync(join(program.place, "piped-"));
  const ask = `echo 'Summarise this folder' | '${process.execPath}' '${program.main}' --model demo --no-mcp -p`;
  const script = `cd '${folder}'; (${ask}; echo "exit $?") & sleep 2; stty -a; wait; stty -a; sleep 0.5`;
  const env = { BELAY_DATA: join(folder, ".data"), BELAY_DEMO_DELAY_MS: "60" };
  const terminal = program.openShell(script, { env });
  await terminal.until(/ isig icanon iexten echo /);
  await terminal.until("exit 0");
  await terminal.until(/exit 0[\s\S]* isig icanon iexten echo /);
  expect(terminal.raw).not.toContain(`${ESC}[?2004h`);
});

describe("D40: the terminal is given back", () => {
  test("by Ctrl-D, with nothing asked and in the middle of an answer", async () => {
    const idle = await inShell();
    idle.press(CTRL_D);
    await untilRestored(idle, 0);
    const busy = await speaking();
    busy.press(CTRL_D);
    await untilRestored(busy, 0);
    expect(busy.text()).toContain("Resume with: belay --resume");
  });

  test("D43: Ctrl-C interrupts like ESC, and twice quits", async () => {
    const terminal = await speaking();
    terminal.press(CTRL_C);
    await terminal.untilSeen("── stopped");
    await terminal.untilSeen("Ctrl-C again quits");
    terminal.press(CTRL_C);
    await untilRestored(terminal, 0);
  });

  test("Ctrl-C clears the draft first", async () => {
    const terminal = await inShell();
    terminal.press("half a thought");
    await terminal.untilSeen("› half a thought");
    terminal.press(CTRL_C);
    await terminal.untilSeen(PROMPT);
    terminal.press(CTRL_D);
    await untilRestored(terminal, 0);
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
  ] as const)("by %s in the middle of an answer", async (signal, code) => {
    const terminal = await speaking();
    process.kill(terminal.pid(), signal);
    await untilRestored(terminal, code);
  });

  test("SIGINT from elsewhere interrupts, like Ctrl-C", async () => {
    const terminal = await speaking();
    process.kill(terminal.pid(), "SIGINT");
    await terminal.untilSeen("── stopped");
    terminal.press(CTRL_D);
    await untilRestored(terminal, 0);
  });

  test.each([
    ["an exception that nobody caught", "throw new Error('dropped rope')"],
    ["a rejection that nobody owns", "Promise.reject(new Error('dropped rope'))"],
  ])("by %s, which is reported", async (_, code) => {
    const late = `process.on("SIGUSR2", () => { ${code} })`;
    const terminal = await inShell({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(late)}` });
    process.kill(terminal.pid(), "SIGUSR2");
    await terminal.until("dropped rope");
    await untilRestored(terminal, 1);
  });

  test("while it is stopped by Ctrl-Z; with fg keys, paste and screen are there again", async () => {
    const folder = mkdtempSync(join(program.place, "fg-"));
    const terminal = program.openShell("PS1='shell$ ' exec bash --norc -i", {
      cwd: folder,
      env: { BELAY_DATA: join(folder, ".data"), BELAY_DEMO_DELAY_MS: "60" },
    });
    await terminal.untilSeen("shell$");
    terminal.press(`'${process.execPath}' '${program.main}' --model demo --no-mcp${ENTER}`);
    await terminal.untilSeen(PROMPT);
    terminal.press("half");
    await terminal.untilSeen("› half");
    terminal.press(CTRL_Z);
    await terminal.untilSeen("Stopped");
    terminal.press(`stty -a${ENTER}`);
    await terminal.until(/ isig icanon iexten echo /);
    isRestored(terminal.raw.slice(0, terminal.raw.lastIndexOf("Stopped")));
    terminal.press(`fg${ENTER}`);
    await terminal.untilSeen("› half");
    expect(terminal.raw.lastIndexOf(`${ESC}[?2004h`)).toBeGreaterThan(terminal.raw.lastIndexOf("Stopped"));
    terminal.press(` a thought${ESC}[200~, pasted${ESC}[201~`);
    await terminal.untilSeen("› half a thought, pasted");
    terminal.press(`\u0015${CTRL_D}`);
    await terminal.untilSeen(/shell\$ $/);
    terminal.press(`stty -a; exit${ENTER}`);
    await terminal.exited;
    isRestored(terminal.raw);
  });
});

describe("P16: after a signal it first stops the run", () => {
  test.each(["SIGTERM", "SIGHUP"] as const)(
    "%s: the run is paused, the line to resume is printed, and it resumes",
    async (signal) => {
      const first = await talk([["Half an answer ", { stall: true }]]);
      first.ask("begin");
      await first.untilSeen("Half an answer");
      first.press("a draft");
      await first.untilSeen("› a draft");
      process.kill(first.pid, signal);
      expect(await first.exited).toBe(signal === "SIGTERM" ? 143 : 129);
      expect(await first.until("Resume with: belay --resume")).toContain("── stopped");
      isRestored(first.raw);
      expect(await (await first.wire.arrived(1)).ended).toBe("closed");
      const second = await talk([["and the other half."]], {
        folder: first.folder,
        args: ["--continue"],
        ready: "stopped · ⏎ to continue",
      });
      await second.untilSeen("Half an answer");
      expect(second.text()).not.toContain("cut off");
      second.press(ENTER);
      await second.untilSeen("… and the other half.");
    },
  );

  test("with a request open, it stays open", async () => {
    const first = await talk([["I write.", write("a.txt")]]);
    first.ask("write");
    await first.untilSeen("Yes, once");
    process.kill(first.pid, "SIGTERM");
    expect(await first.exited).toBe(143);
    const second = await talk([], { folder: first.folder, args: ["--continue"], ready: "Yes, once" });
    expect(await second.untilSeen("Yes, once")).toContain("waiting for your answer");
  });

  test("with a request open beside a call that runs, it stays open, and its answer counts", async () => {
    const calls = [{ call: "shell", id: "c1", args: { command: "touch began; sleep 600" } }, write("a.txt", "a")];
    const rules = { rules: [{ tool: "shell", effect: "allow" }] };
    const first = await talk([["I write.", ...calls]], { rules });
    first.ask("write");
    await first.untilSeen("Yes, once");
    while (!existsSync(join(first.folder, "began"))) await sleep(10);
    process.kill(first.pid, "SIGTERM");
    expect(await first.exited).toBe(143);
    const second = await talk([["Written."]], { folder: first.folder, args: ["--continue"], ready: "Yes, once" });
    await sleep(SEEN_MS);
    second.press(`y${ENTER}`);
    await second.untilSeen("Written.");
    expect(readFileSync(join(first.folder, "a.txt"), "utf8")).toBe("a");
  });

  test("with a request open beside a call that was approved, it stays open, and the call does not outlive the program", async () => {
    const calls = [
      { call: "shell", id: "c1", args: { command: "trap '' TERM; echo $$ > began; sleep 600" } },
      write("a.txt", "a"),
    ];
    const first = await talk([["I write.", ...calls]]);
    first.ask("write");
    await first.untilSeen("❯ shell trap");
    await sleep(SEEN_MS);
    first.press(`y${ENTER}`);
    const began = join(first.folder, "began");
    while (!existsSync(began) || readFileSync(began, "utf8") === "") await sleep(10);
    await first.untilSeen("Create a.txt?");
    process.kill(first.pid, "SIGTERM");
    expect(await first.exited).toBe(143);
    await first.until("Resume with: belay --resume");
    await untilEnded(-Number(readFileSync(began, "utf8")));
    const inbox = program.open(["inbox"], { cwd: first.folder, env: first.env });
    await inbox.until("Create a.txt?");
    const second = await talk([["Written."]], { folder: first.folder, args: ["--continue"], ready: "Yes, once" });
    await sleep(SEEN_MS);
    second.press(`y${ENTER}`);
    await second.untilSeen("Written.");
    expect(readFileSync(join(first.folder, "a.txt"), "utf8")).toBe("a");
  });

  test("a tool that makes every stop wait is not awaited without end; a second signal ends it at once", async () => {
    const call = { call: "stubborn", id: "c1", args: { file: "never" } };
    const begun = async () => {
      const terminal = await talk([["Waiting.", call]], { main: "deaf-app" });
      terminal.ask("wait for it");
      await terminal.untilSeen(/stubborn .*\d+ s/);
      process.kill(terminal.pid, "SIGTERM");
      await terminal.untilSeen("stopping…");
      return terminal;
    };
    const once = await begun();
    expect(await once.exited).toBe(143);
    await once.until("Resume with: belay --resume");
    isRestored(once.raw);
    const twice = await begun();
    process.kill(twice.pid, "SIGTERM");
    expect(await twice.exited).toBe(143);
    isRestored(twice.raw);
    expect(twice.text()).not.toContain("Resume with");
  });

  test("its terminal is closed: the run is paused all the same", async () => {
    const first = await talk([["Half an answer ", { stall: true }]]);
    first.ask("begin");
    await first.untilSeen("Half an answer");
    first.hangUp();
    expect(await (await first.wire.arrived(1)).ended).toBe("closed");
    await untilEnded(first.pid);
    const second = await talk([["and the other half."]], {
      folder: first.folder,
      args: ["--continue"],
      ready: "stopped · ⏎ to continue",
    });
    expect(second.text()).not.toContain("cut off");
  });
});

/** A negative one is that of a process group. */
async function untilEnded(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
