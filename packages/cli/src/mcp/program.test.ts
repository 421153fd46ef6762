// The whole program with a third-party server: a pipe in, an answer out, and a stop that reaches every process.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();
const everything = fileURLToPath(
  new URL("../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

test("a tool of a server is called, its question is answered from another terminal, and SIGINT cancels a call on its wire", async () => {
  const wire = await wireServer();
  try {
    const home = program.home();
    mkdirSync(home.config);
    const command = `tee -a '${join(home.folder, "wire")}' | '${process.execPath}' '${everything}'`;
    const mcpServers = { every: { command: "sh", args: ["-c", command] } };
    writeFileSync(join(home.config, "mcp.json"), JSON.stringify({ mcpServers }));
    writeFileSync(
      join(home.config, "permissions.json"),
      JSON.stringify({ rules: [{ tool: "every__*", effect: "allow" }] }),
    );
    const base = ["--base-url", wire.url, "--model", "m"];

    wire.script([{ call: "every__echo", id: "c1", args: { message: "over there" } }], ["heard"]);
    expect(await home.belay(["-p", "go", ...base])).toEqual({ code: 0, stdout: "heard\n", stderr: "" });
    expect(JSON.stringify((await wire.arrived(2)).body.messages)).toContain("Echo: over there");

    wire.script([{ call: "every__trigger-elicitation-request", id: "c2", args: {} }], ["thanks"]);
    const asked = await home.belay(["-p", "go", "--ask", "pause", ...base]);
    expect(asked.code).toBe(3);
    const [item] = (await home.belay(["inbox", "--json"])).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    // The process that asked is gone: the call is made again, asks the same, and is answered from the record.
    expect(await home.belay(["answer", item.id, "--value", `{"name":"Maria"}`])).toMatchObject({ code: 0 });
    expect(await home.belay(["-p", "--resume", item.threadId, ...base])).toMatchObject({ code: 0, stdout: "thanks\n" });
    expect(JSON.stringify((await wire.arrived(4)).body.messages)).toContain("Maria");

    wire.script([{ call: "every__trigger-long-running-operation", id: "c3", args: { duration: 60, steps: 600 } }]);
    const running = home.start(["-p", "go", "--output-format", "stream-json", ...base]);
    await running.said('"tool-progress"');
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
    // It is tee that writes it down, and it may outlive us.
    const cancelled = '"method":"notifications/cancelled"';
    await expect.poll(() => readFileSync(join(home.folder, "wire"), "utf8"), { timeout: 20_000 }).toContain(cancelled);
  } finally {
    await wire.close();
  }
});

test("signing in at a server on the web: by a browser once, by the kept grant from then on", async () => {
  const suite = fileURLToPath(
    new URL("../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
  );
  // The suite's server with its sign-in, left running.
  const server = spawn(process.execPath, [suite, "client", "--scenario", "auth/metadata-default"], { stdio: "pipe" });
  try {
    const url = await new Promise<string>((resolve) => {
      let said = "";
      server.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        const found = /http:\/\/localhost:\d+\/mcp/.exec(said);
        if (found) resolve(found[0]);
      });
    });
    const home = program.home();
    mkdirSync(home.config);
    writeFileSync(join(home.config, "mcp.json"), JSON.stringify({ mcpServers: { web: { url } } }));
    const before = await home.belay(["mcp"]);
    expect([before.code, before.stdout]).toEqual([1, expect.stringContaining("belay mcp login")]);
    expect((await home.belay(["-p", "hello"])).stderr).toContain("The MCP server web needs you to sign in.");

    // A browser that follows wherever it is led.
    const browser = join(home.folder, "browser.mjs");
    writeFileSync(browser, `#!${process.execPath}\nawait fetch(process.argv[2]);\n`);
    chmodSync(browser, 0o755);
    const login = await home.belay(["mcp", "login", "web"], { env: { BROWSER: browser } });
    expect([login.code, login.stdout]).toEqual([0, expect.stringMatching(/^Signed in at web: \d+ tools?\.\n$/)]);
    expect(login.stderr).toContain("Sign in on this page: http://localhost");
    const [kept, ...more] = readdirSync(join(home.data, "mcp"));
    expect([kept, more]).toEqual([expect.stringMatching(/^web-[0-9a-f]+\.json$/), []]);
    expect((statSync(join(home.data, "mcp", kept!)).mode & 0o777).toString(8)).toBe("600");
    expect((await home.belay(["mcp"])).code).toBe(0);

    // Another server under the same name: the grant is not for it.
    const sent: (string | undefined)[] = [];
    const other = createServer(({ headers }, response) => {
      sent.push(headers.authorization);
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`;
    writeFileSync(join(home.config, "mcp.json"), JSON.stringify({ mcpServers: { web: { url: address } } }));
    await home.belay(["mcp"]);
    other.close();
    expect([sent.length > 0, sent.filter((each) => each !== undefined)]).toEqual([true, []]);
  } finally {
    server.kill("SIGKILL");
  }
});
