import { openKit } from "@belay/testkit";
import { afterEach, expect, it, vi } from "vitest";
import { jsonSchema } from "../schema/schema.ts";
import { tool } from "./tool.ts";

afterEach(() => vi.restoreAllMocks());

it.runIf(process.platform === "linux")(
  "TS1: the model gets the names of processes that a stop cannot end",
  async () => {
    let stray = 0;
    let up = () => {};
    const running = new Promise<void>((resolve) => (up = resolve));
    const shell = tool({
      name: "shell",
      description: "",
      input: jsonSchema({ type: "object" }),
      async *execute(_, ctx) {
        const child = ctx.spawn("setsid sleep 600 & wait", [], { shell: true });
        while (child.strays().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        stray = child.strays()[0]!.pid;
        yield { text: "up" };
        up();
        await child.exit;
      },
    });
    const kit = await openKit([[{ call: "shell", id: "c" }], "ok"], { tools: [shell] });
    const run = kit.session.run("go");
    await running;
    // A process of another user: the system refuses to signal it.
    const kill = process.kill.bind(process);
    vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
      if (pid === stray) throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
      return kill(pid, signal);
    });
    expect(await kit.session.interrupt()).toMatchObject({ accepted: true, stopped: ["c"], late: [] });
    await run.result;
    vi.restoreAllMocks();
    const stillRunning = { stillRunning: [{ pid: stray, command: "sleep 600" }] };
    const results = kit.session.messages.flatMap(({ parts }) => parts).filter(({ type }) => type === "result");
    const output = expect.stringContaining(JSON.stringify(stillRunning));
    expect(results).toMatchObject([{ id: "c", outcome: "interrupted", output }]);
    await kit.session.resume({ input: "well?" }).result;
    expect(kit.requests[1]!.messages.flatMap(({ parts }) => parts)).toContainEqual(expect.objectContaining({ output }));
    process.kill(stray, "SIGKILL");
  },
);
