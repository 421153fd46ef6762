import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { listen, openKit, said, type ToolOptions, toolOf, until } from "@belay/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { humanInput, jsonSchema, type Runner, type Session, tool } from "../../index.ts";

const anything = jsonSchema<Record<string, unknown>>({ type: "object" });
type Options = ToolOptions<typeof anything, unknown>;
const script = [[{ call: "shell", id: "s" }], "done"] as const;

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "belay-stop-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const alive = (pid: number) => {
  try {
    process.kill(pid, 0);
    if (process.platform !== "linux") return true;
    // A dead process that its parent has not collected yet still has a number.
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

/** Waits, for less than any grace here, until they are dead: a process is not gone in the instant it is killed. */
async function dead(children: readonly number[], withinMs = 1_500): Promise<boolean> {
  for (let i = 0; i < withinMs && children.some(alive); i += 10) await delay(10);
  return !children.some(alive);
}

async function pids(file: string, count: number): Promise<number[]> {
  for (let i = 0; i < 2_000; i++) {
    const found = (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean).map(Number);
    if (found.length >= count) return found;
    await delay(10);
  }
  throw new Error("The children never started.");
}

/** A shell that starts another, both noting their pid and sleeping. */
const line = (file: string, trap: string) =>
  `${trap} echo $$ >> "${file}"; sh -c '${trap} echo $$ >> "${file}"; while :; do sleep 0.05; done' & while :; do sleep 0.05; done`;

/** A call that runs it. */
const shell = (
  file: string,
  execute: (run: Promise<unknown>, signal: AbortSignal) => unknown,
  trap = "",
  more: Partial<Options> = {},
) =>
  tool({
    name: "shell",
    description: "",
    input: anything,
    execute(_args, ctx) {
      return execute(ctx.spawn("sh", ["-c", line(file, trap)]).output, ctx.signal);
    },
    ...more,
  });

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe.skipIf(process.platform === "win32")("a stop and child processes", () => {
  test("S1, Y12: a child and its own child are dead when the receipt comes", async () => {
    const file = join(folder(), "pids");
    const kit = await openKit(script, { tools: [shell(file, (output) => output)] });
    const heard = listen(kit.session.run("hi"));
    const children = await pids(file, 2);
    expect(children.map(alive)).toEqual([true, true]);
    expect(await kit.session.interrupt({ graceMs: 20_000 })).toMatchObject({ accepted: true, late: [] });
    expect(await dead(children)).toBe(true);
    expect(said(await heard.all).filter((line) => line.startsWith("tool-end"))).toHaveLength(1);
  });

  test("X3: also children that ignore SIGTERM, when the tool itself ends at once", async () => {
    const file = join(folder(), "pids");
    const kit = await openKit(script, {
      tools: [shell(file, (_output, signal) => untilAborted(signal), "trap : TERM;")],
    });
    kit.session.run("hi");
    const children = await pids(file, 2);
    expect(await kit.session.interrupt({ graceMs: 2000 })).toMatchObject({ stopped: ["s"], late: [] });
    expect(await dead(children)).toBe(true);
  });

  test("S4: force does not wait for children that the stop before it was waiting for", async () => {
    const file = join(folder(), "pids");
    const deafChild = shell(file, (_output, signal) => untilAborted(signal), "trap : TERM;", { graceMs: 60_000 });
    const kit = await openKit(script, { tools: [deafChild] });
    kit.session.run("hi");
    const children = await pids(file, 2);
    const first = kit.session.interrupt();
    await delay(50);
    expect([kit.session.state, ...children.map(alive)]).toEqual(["running", true, true]);
    expect(await kit.session.interrupt({ force: true })).toBe(await first);
    expect(await dead(children)).toBe(true);
  });

  test("S4: force kills them at once, deaf as they may be", async () => {
    const file = join(folder(), "pids");
    const kit = await openKit(script, {
      tools: [shell(file, (output) => output, "trap : TERM;", { graceMs: 60_000 })],
    });
    kit.session.run("hi");
    const children = await pids(file, 2);
    await kit.session.interrupt({ force: true });
    expect(await dead(children)).toBe(true);
  });

  /** A call that has started deaf children, and asks a person. */
  async function asking(end: (session: Session, runner: Runner) => Promise<unknown>, graceMs = 1_000) {
    const file = join(folder(), "pids");
    const asks = tool({
      name: "shell",
      description: "",
      input: anything,
      graceMs,
      async execute(_args, ctx) {
        ctx.spawn("sh", ["-c", line(file, "trap : TERM;")]);
        await pids(file, 2);
        return ctx.ask(humanInput("Enough?"));
      },
    });
    const kit = await openKit(script, { tools: [asks] });
    expect(await kit.session.run("hi").result).toMatchObject({
      status: "interrupted",
      interruptType: "tool_interrupt",
    });
    const children = await pids(file, 2);
    expect(children.map(alive)).toEqual([true, true]);
    await end(kit.session, kit.runner);
    // Only force ends a long grace: a busy machine may take its time for it.
    return dead(children, graceMs > 10_000 ? 1_500 : 300);
  }

  test.each([
    ["close()", (session: Session) => session.close()],
    ["interrupt()", (session: Session) => session.interrupt()],
    ["terminate()", (session: Session) => session.terminate()],
  ])("P14: children of a call that asks a person are dead when %s is done, deaf as they may be", async (_, end) => {
    expect(await asking(end)).toBe(true);
  });

  test("S4: force kills those, too, at once, also after a stop that waits for them", async () => {
    const force = { force: true };
    expect(await asking((session) => session.interrupt(force), 60_000)).toBe(true);
    const twice = async (session: Session) => {
      const first = session.interrupt();
      await until(() => session.pauseType === "user_interrupt");
      expect(await session.interrupt(force)).toEqual(await first);
    };
    expect(await asking(twice, 60_000)).toBe(true);
  });

  test.each(["close", "terminate"] as const)(
    "S4: force ends the grace of %s(), too, from the start and while it waits for them",
    async (how) => {
      const force = { force: true };
      expect(await asking((session) => session[how](force), 60_000)).toBe(true);
      const twice = async (session: Session) => {
        const first = session[how]();
        await new Promise((resolve) => setTimeout(resolve, 20));
        await Promise.all([first, session[how](force)]);
      };
      expect(await asking(twice, 60_000)).toBe(true);
    },
  );

  test("S4, C5: so it does of runner.close(), and so does a drain that takes longer than it may", async () => {
    expect(await asking((_, runner) => runner.close({ force: true }), 60_000)).toBe(true);
    expect(await asking((_, runner) => runner.drain({ timeoutMs: 20 }), 60_000)).toBe(true);
  });

  test.each(["close", "terminate"] as const)(
    "S4: so does it in the process that runs the call: it is left behind at once",
    async (how) => {
      const file = join(folder(), "pids");
      const deaf = toolOf(
        "shell",
        async (ctx) => {
          await ctx.spawn("sh", ["-c", line(file, "trap : TERM;")]).output.catch(() => {});
        },
        { graceMs: 60_000 },
      );
      const kit = await openKit(script, { tools: [deaf] });
      kit.session.run("hi");
      const children = await pids(file, 2);
      const first = kit.session[how]();
      await Promise.all([first, kit.session[how]({ force: true })]);
      expect(await dead(children)).toBe(true);
    },
  );

  test("P14: so are they if the run continues beside that call, when a stop of it is reported", async () => {
    const file = join(folder(), "pids");
    const [asked, slow] = [
      toolOf(
        "asks",
        async (ctx) => {
          ctx.spawn("sh", ["-c", line(file, "trap : TERM;")]);
          await pids(file, 2);
          return ctx.ask(humanInput("Enough?"));
        },
        { graceMs: 1_000 },
      ),
      toolOf("slow", (ctx) => untilAborted(ctx.signal)),
    ];
    const kit = await openKit([[{ call: "asks" }, { call: "slow" }]], { tools: [asked, slow] });
    void kit.session.run("hi");
    await until(() => kit.session.interrupts.length === 1);
    const children = await pids(file, 2);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true });
    expect(await dead(children, 100)).toBe(true);
  });

  test("S2, S9: a stop of later requests, while children of a call that was stopped before still end, is one of its own", async () => {
    const file = join(folder(), "pids");
    const asks = toolOf(
      "shell",
      async (ctx) => {
        if (ctx.callId === "s") {
          ctx.spawn("sh", ["-c", line(file, "trap : TERM;")]);
          await pids(file, 2);
        }
        return ctx.ask(humanInput("Enough?"));
      },
      { graceMs: 3_000 },
    );
    const { session } = await openKit([[{ call: "shell", id: "s" }], [{ call: "shell", id: "t" }]], { tools: [asks] });
    await session.run("hi").result;
    const first = session.interrupt();
    await until(() => session.pauseType === "user_interrupt");
    expect(await session.resume({ input: "again" }).result).toMatchObject({ interruptType: "tool_interrupt" });
    expect(await session.interrupt({ segment: 2 })).toMatchObject({ accepted: true, segment: 2, stopped: ["t"] });
    expect(session.pauseType).toBe("user_interrupt");
    expect(await first).toMatchObject({ accepted: true, segment: 1, stopped: ["s"] });
  });

  test('S4: the children of a tool with onStop "finish" are left to finish, like the tool', async () => {
    const place = folder();
    const [file, go] = [join(place, "pids"), join(place, "go")];
    const careful = tool({
      name: "shell",
      description: "",
      input: anything,
      onStop: "finish",
      execute: async (_args, ctx) =>
        (
          await ctx.spawn("sh", [
            "-c",
            `echo $$ >> "${file}"; while [ ! -e "${go}" ]; do sleep 0.02; done; echo written`,
          ]).output
        ).stdout,
    });
    const kit = await openKit(script, { tools: [careful] });
    kit.session.run("hi");
    await pids(file, 1);
    const stopping = kit.session.interrupt();
    // Its child continues only now: it outlives the signal.
    writeFileSync(go, "");
    expect(await stopping).toMatchObject({ finished: ["s"], stopped: [] });
    const results = kit.session.messages.flatMap((message) => message.parts).filter((part) => part.type === "result");
    expect(results).toMatchObject([{ outcome: "ok", output: "written\n" }]);
  });
});
