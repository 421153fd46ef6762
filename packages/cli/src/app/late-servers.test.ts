// MCP servers that hang, or take their time: the prompt does not wait for them. In a real terminal.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { testTalks } from "../testing/talk.ts";
import { CTRL_D, ENTER, ESC } from "../testing/terminal.ts";

const { program } = testTalks(wireServer);
const everything = fileURLToPath(
  new URL("../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

test("the prompt comes at once, the tools of a late server come when it does, and one that hangs is named", async () => {
  const wire = await wireServer();
  try {
    const folder = mkdtempSync(join(program().place, "folder-"));
    const config = mkdtempSync(join(program().place, "config-"));
    const late = { command: "sh", args: ["-c", `sleep 4; exec '${process.execPath}' '${everything}'`] };
    const mcpServers = { hangs: { command: "sleep", args: ["300"] }, late };
    writeFileSync(join(config, "mcp.json"), JSON.stringify({ mcpServers }));
    const env = { BELAY_DATA: join(folder, ".data"), BELAY_CONFIG: config };
    const terminal = program().open(["--base-url", wire.url, "--model", "test"], { cwd: folder, env });
    const started = performance.now();
    await terminal.untilSeen("Ask, or tell it");
    expect(performance.now() - started).toBeLessThan(10_000);
    wire.script(["Without them."], ["With them."]);
    terminal.press(`hello${ENTER}`);
    await terminal.untilSeen("Without them.");
    await terminal.until("MCP servers still starting: hangs, late.");
    const named = async (n: number) =>
      ((await wire.arrived(n)).body.tools as { function: { name: string } }[]).map((each) => each.function.name);
    expect((await named(1)).some((name) => name.startsWith("late__"))).toBe(false);
    // The one that hangs is given up after a while, and said to be down.
    await terminal.until("The MCP server hangs is not there");
    terminal.press(`again${ENTER}`);
    await terminal.untilSeen("With them.");
    expect(await named(2)).toContain("late__echo");
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  } finally {
    await wire.close();
  }
});

test("Esc in a call of an MCP server ends it on its wire and on the screen", async () => {
  const config = mkdtempSync(join(program().place, "config-"));
  const mcpServers = { every: { command: process.execPath, args: [everything] } };
  writeFileSync(join(config, "mcp.json"), JSON.stringify({ mcpServers }));
  const rules = { rules: [{ tool: "every__*", effect: "allow" }] };
  writeFileSync(join(config, "permissions.json"), JSON.stringify(rules));
  const wire = await wireServer();
  try {
    const folder = mkdtempSync(join(program().place, "folder-"));
    const env = { BELAY_DATA: join(folder, ".data"), BELAY_CONFIG: config };
    const terminal = program().open(["--base-url", wire.url, "--model", "test"], { cwd: folder, env });
    await terminal.untilSeen("Ask, or tell it");
    // Until the server is up.
    for (let turn = 1; ; turn++) {
      wire.script([`Turn ${turn}.`]);
      terminal.press(`begin${ENTER}`);
      await terminal.untilSeen(`Turn ${turn}.`);
      await terminal.untilSeen("· ready");
      if (JSON.stringify((await wire.arrived(turn)).body.tools).includes("every__")) break;
    }
    wire.script(
      [{ call: "every__trigger-long-running-operation", id: "c1", args: { duration: 60, steps: 600 } }],
      ["Then this."],
    );
    terminal.press(`take long${ENTER}`);
    await terminal.untilSeen(/every__trigger-long-running-operation/);
    await terminal.untilSeen("working");
    terminal.press(ESC);
    await terminal.untilSeen("── stopped");
    await terminal.untilSeen(/1 stopped|1 still running/);
    terminal.press(`instead${ENTER}`);
    await terminal.untilSeen("Then this.");
  } finally {
    await wire.close();
  }
});
