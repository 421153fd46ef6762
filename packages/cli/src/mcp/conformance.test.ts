// The suite that the protocol's authors wrote for clients, against ours.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const suite = join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const client = `${process.execPath} --import tsx ${join(root, "packages/cli/src/testing/conformance-client.ts")}`;

function run(scenario: string): Promise<{ readonly code: number; readonly output: string }> {
  const args = [suite, "client", "--command", client, "--scenario", scenario, "--timeout", "60000"];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
  });
}

test.each(["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"])(
  "our client passes the scenario %s",
  async (scenario) => {
    const { code, output } = await run(scenario);
    expect(output).toContain("OVERALL: PASSED");
    expect(code).toBe(0);
  },
);
