// Real MCP servers as child processes: two that others wrote, and one of ours that speaks the protocol of 2026.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, approve, type BelayEvent, createRunner, type Json, reject, respond, type Tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../data/open-database.ts";
import { judgeBy } from "../permissions/judge.ts";
import { readMcpConfig } from "./config.ts";
import { type Connected, connectServers } from "./connect.ts";
import { McpServer } from "./server.ts";

const modules = fileURLToPath(new URL("../../../../node_modules/", import.meta.url));
const everything = join(modules, "@modelcontextprotocol/server-everything/dist/index.js");
const filesystem = join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js");

let home: string;
let config: string;
let folder: string;
const open: Connected[] = [];

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "belay-mcp-")));
  config = join(home, "config");
  folder = join(home, "folder");
  mkdirSync(config);
  mkdirSync(folder);
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  rmSync(home, { recursive: true, force: true });
});

const node = (file: string, ...args: string[]) => ({ command: process.execPath, args: [file, ...args] });

async function connect(servers: object, permissions: Parameters<typeof judgeBy>[0] = {}): Promise<Connected> {
  writeFileSync(join(config, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  let tools: readonly Tool<unknown>[] = [];
  const connected = await connectServers(
    { configFolder: config, dataFolder: join(home, "data"), folder },
    judgeBy(permissions, () => tools),
  );
  tools = connected.tools;
  open.push(connected);
  return connected;
}

/** An agent whose model makes one call, on a thread that is kept on disk. */
async function calling(
  { tools }: Connected,
  call: string,
  args: object,
  permissions: Parameters<typeof judgeBy>[0] = {},
) {
  const model = scriptedModel(({ messages }) => (messages.at(-1)!.role === "tool" ? "done" : [{ call, args }]));
  const db = await openDatabase(join(home, "data"));
  const runner = createRunner({ agent: agent({ name: "belay", model, tools }), store: sqliteStore(db), permissions });
  const session = await runner.open("t");
  return { runner, session, close: () => runner.close().then(() => db.close()) };
}

const resultIn = (messages: readonly { parts: readonly { type: string }[] }[]) =>
  messages.flatMap(({ parts }) => parts).find(({ type }) => type === "result") as
    | { outcome: string; output: Json }
    | undefined;

const byName = (tools: readonly Tool<unknown>[]) => Object.fromEntries(tools.map((each) => [each.name, each]));

describe("servers that others wrote", () => {
  test("their tools are there as server__tool, with what their annotations say of permissions and crashes", async () => {
    const { tools, warnings } = await connect({ every: node(everything), files: node(filesystem, folder) });
    expect(warnings).toEqual([]);
    const named = byName(tools);
    const nature = (name: string) => {
      const { readOnly, destructive, onCrash } = named[name]!;
      return { readOnly, destructive, onCrash };
    };
    expect(nature("every__echo")).toEqual({ readOnly: true, destructive: false, onCrash: "retry" });
    expect(nature("files__write_file")).toEqual({ readOnly: false, destructive: true, onCrash: "retry" });
    expect(nature("files__create_directory")).toEqual({ readOnly: false, destructive: false, onCrash: "retry" });
    expect(nature("files__move_file")).toEqual({ readOnly: false, destructive: expect.any(Boolean), onCrash: "ask" });
    expect(nature("every__trigger-elicitation-request")).toEqual({
      readOnly: false,
      destructive: false,
      onCrash: "ask",
    });
  });

  test("a tool that only reads runs, one that writes asks, and the answer reaches the server", async () => {
    writeFileSync(join(folder, "a.txt"), "from disk\n");
    const connected = await connect({ files: node(filesystem, folder) });
    const reading = await calling(connected, "files__read_text_file", { path: join(folder, "a.txt") });
    expect(await reading.session.run("go").result).toMatchObject({ status: "completed" });
    expect(resultIn(reading.session.messages)).toMatchObject({ outcome: "ok", output: "from disk\n" });
    await reading.runner.delete("t");
    await reading.close();

    const path = join(folder, "b.txt");
    const { runner, session, close } = await calling(connected, "files__write_file", { path, content: "made" });
    await session.run("go").result;
    const [item] = (await runner.inbox()).items;
    expect(item).toMatchObject({ tool: "files__write_file", reason: "Run write_file of the MCP server files?" });
    expect(existsSync(path)).toBe(false);
    await session.resume({ answers: { [item!.id]: approve() } }).result;
    expect(readFileSync(path, "utf8")).toBe("made");
    await close();
  });

  test("the model reads the failure of a tool in the server's words", async () => {
    const connected = await connect({ files: node(filesystem, folder) });
    const { session, close } = await calling(connected, "files__read_text_file", { path: "/etc/passwd" });
    await session.run("go").result;
    expect(resultIn(session.messages)).toMatchObject({
      outcome: "error",
      output: expect.stringContaining("read_text_file of the MCP server files failed"),
    });
    await close();
  });

  test("progress is shown while it runs; a stop reaches the server as a cancelled call", async () => {
    // Our messages to the server, on their way.
    const command = `tee '${join(home, "wire")}' | '${process.execPath}' '${everything}'`;
    const connected = await connect({ every: { command: "sh", args: ["-c", command] } });
    const { session, close } = await calling(connected, "every__trigger-long-running-operation", {
      duration: 60,
      steps: 600,
    });
    const run = session.run("go");
    for await (const event of run as AsyncIterable<BelayEvent>) {
      if (event.type !== "tool-progress") continue;
      expect(event.data).toMatchObject({ progress: expect.any(Number), total: 600 });
      break;
    }
    expect(await session.interrupt()).toMatchObject({ accepted: true, late: [] });
    expect(resultIn(session.messages)).toMatchObject({ outcome: "interrupted" });
    const wire = () =>
      readFileSync(join(home, "wire"), "utf8")
        .split("\n")
        // The text after the last line end is still being written.
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    while (!wire().some(({ method }) => method === "notifications/cancelled"))
      await new Promise((resolve) => setTimeout(resolve, 10));
    const sent = wire().find(({ method }) => method === "tools/call");
    expect(wire().at(-1)).toMatchObject({ method: "notifications/cancelled", params: { requestId: sent.id } });
    await close();
  });

  test("a question of the server is a request with its schema; an answer that does not fit is refused, one that fits goes back", async () => {
    const permissions = { rules: [{ tool: "every__*", effect: "allow" as const }] };
    const { runner, session, close } = await calling(
      await connect({ every: node(everything) }, permissions),
      "every__trigger-elicitation-request",
      {},
      permissions,
    );
    expect(await session.run("go").result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    const [item] = (await runner.inbox()).items;
    expect(item).toMatchObject({
      kind: "input",
      reason: "every asks: Please provide inputs for the following fields:",
    });
    expect((item!.schema as { properties: object }).properties).toMatchObject({ name: { type: "string" } });
    await expect(session.answer(item!.id, respond({ name: 5 }))).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    const answers = { [item!.id]: respond({ name: "Maria", check: true }) };
    expect(await session.resume({ answers }).result).toMatchObject({ status: "completed" });
    const { output } = resultIn(session.messages)!;
    expect(output).toContain("Maria");
    // A default is sent for a value that was not given.
    expect(output).toContain("It was a dark and stormy night.");
    await close();
  });

  test("a person's refusal declines", async () => {
    const permissions = { default: "allow" as const };
    const connected = await connect({ every: node(everything) }, permissions);
    const { runner, session, close } = await calling(connected, "every__trigger-elicitation-request", {}, permissions);
    await session.run("go").result;
    const [item] = (await runner.inbox()).items;
    await session.resume({ answers: { [item!.id]: reject("none of your business") } }).result;
    expect(resultIn(session.messages)).toMatchObject({ outcome: "ok", output: expect.stringContaining("declined") });
    await close();
  });

  test("a server that asks for roots gets the folder", async () => {
    const connected = await connect({ every: node(everything) });
    const { session, close } = await calling(connected, "every__get-roots-list", {});
    await session.run("go").result;
    expect(resultIn(session.messages)?.output).toContain(`file://${folder}`);
    await close();
  });

  test("a server does not get the keys of this program, only the variables of its config", async () => {
    process.env.ANTHROPIC_API_KEY = "sk-secret";
    try {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as it stands in the file.
      const env = { GIVEN: "${ANTHROPIC_API_KEY}", PLAIN: "${NOT_SET:-else}" };
      const connected = await connect({ every: { ...node(everything), env } });
      const { session, close } = await calling(connected, "every__get-env", {});
      await session.run("go").result;
      const given = JSON.parse(String(resultIn(session.messages)?.output)) as Record<string, string>;
      expect([given.ANTHROPIC_API_KEY, given.GIVEN, given.PLAIN]).toEqual([undefined, "sk-secret", "else"]);
      await close();
    } finally {
      delete process.env.ANTHROPIC_API_KEY;
    }
  });
});

describe("servers that are not there", () => {
  test("a server that does not start is reported, with its last words, and the others work", async () => {
    const dying = { command: process.execPath, args: ["-e", "console.error('no licence'); process.exit(1)"] };
    const { tools, warnings } = await connect({
      dying,
      gone: { command: "/no/such/command" },
      web: { url: "http://127.0.0.1:1/mcp" },
      every: node(everything),
    });
    expect(Object.keys(byName(tools)).every((name) => name.startsWith("every__"))).toBe(true);
    // They are reported as they fail; by name they are always in the same order.
    expect(warnings.map(({ message }) => message).sort()).toEqual([
      expect.stringMatching(/^The MCP server dying is not there: .*no licence/),
      expect.stringContaining("The MCP server gone is not there"),
      expect.stringContaining("The MCP server web is not there"),
    ]);
  });

  test("one that dies in the middle of a call ends the call with a typed error, and is started again for the next", async () => {
    const file = join(home, "mortal.mjs");
    writeFileSync(file, MORTAL);
    const { tools } = await connect({ mortal: node(file, join(home, "died")) });
    const { mortal__work: work } = byName(tools);
    const first = work!.execute({} as never) as AsyncGenerator<unknown, unknown>;
    await expect(first.next()).rejects.toMatchObject({
      code: "MCP_LOST",
      message: expect.stringContaining("may have taken effect"),
    });
    const second = (await (work!.execute({} as never) as AsyncGenerator<unknown, unknown>).next()) as {
      value: unknown;
    };
    expect(second.value).toBe("alive");
  });
});

test("2026: a question ends a round; another process answers, and the call continues in its place, without being made again", async () => {
  const file = join(home, "modern.mjs");
  writeFileSync(file, MODERN);
  const permissions = { default: "allow" as const };
  const server = { modern: node(file, join(home, "calls")) };
  const before = await calling(await connect(server, permissions), "modern__book", { seats: 2 }, permissions);
  expect(await before.session.run("go").result).toMatchObject({ status: "interrupted" });
  const [item] = (await before.runner.inbox()).items;
  expect(item).toMatchObject({ kind: "input", reason: "modern asks: Which day?" });
  await before.close();
  await open.pop()!.close();

  // Another process, another connection: nothing of the first is left but the record.
  const after = await calling(await connect(server, permissions), "modern__book", { seats: 2 }, permissions);
  const answers = { [item!.id]: respond({ day: "monday" }) };
  await after.session.resume({ answers }).result;
  expect(resultIn(after.session.messages)).toMatchObject({ outcome: "ok", output: "2 seats on monday, as kept" });
  const calls = readFileSync(join(home, "calls"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(calls).toEqual([
    { arguments: { seats: 2 } },
    {
      arguments: { seats: 2 },
      inputResponses: { day: { action: "accept", content: { day: "monday" } } },
      requestState: "kept",
    },
  ]);
  await after.close();
});

describe("the config", () => {
  test(".mcp.json of a folder is used only when the folder is trusted", async () => {
    writeFileSync(
      join(folder, ".mcp.json"),
      JSON.stringify({ mcpServers: { evil: { command: "touch", args: [join(home, "ran")] } } }),
    );
    const { tools, warnings } = await connect({});
    expect([tools, existsSync(join(home, "ran"))]).toEqual([[], false]);
    expect(warnings[0]!.message).toContain(`"trustedFolders": ["${folder}"]`);
    writeFileSync(join(config, "mcp.json"), JSON.stringify({ trustedFolders: [folder] }));
    expect([...readMcpConfig(config, folder).servers.keys()]).toEqual(["evil"]);
    const mcpServers = { evil: { disabled: true }, mine: { command: "x", disabled: true }, other: { command: "x" } };
    writeFileSync(join(config, "mcp.json"), JSON.stringify({ trustedFolders: [folder], mcpServers }));
    expect([...readMcpConfig(config, folder).servers.keys()]).toEqual(["other"]);
  });

  test("what means nothing is refused, with its place", () => {
    const read = (text: string) => {
      writeFileSync(join(config, "mcp.json"), text);
      return () => readMcpConfig(config, folder, {});
    };
    expect(read("{")).toThrow("mcp.json cannot be used");
    expect(read(`{ "mcpServers": [] }`)).toThrow("mcpServers is not an object");
    expect(read(`{ "mcpServers": { "a": {} } }`)).toThrow("a: it needs either a command or a url");
    expect(read(`{ "mcpServers": { "a": { "command": "x", "args": [1] } } }`)).toThrow("a.args is not a list of texts");
    expect(read(`{ "mcpServers": { "a": { "disabled": 1 } } }`)).toThrow("a: disabled is 1, neither true nor false");
    expect(read(`{ "mcpServers": { "a": { "url": "ftp://x" } } }`)).toThrow("not an http or https address");
    expect(read(`{ "mcpServers": { "a": { "url": "http://x", "headers": { "k": "\${NO_KEY}" } } } }`)).toThrow(
      "the variable NO_KEY is not set",
    );
  });
});

/** Answers as servers of before 2026 do; dies at its first call, once. */
const MORTAL = `
import { existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const died = process.argv[2];
const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "mortal", version: "1" } });
  else if (method === "tools/list") send(id, { tools: [{ name: "work", inputSchema: { type: "object" } }] });
  else if (method === "tools/call") {
    if (!existsSync(died)) { writeFileSync(died, ""); process.exit(1); }
    send(id, { content: [{ type: "text", text: "alive" }] });
  } else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } }));
}
`;

/** Speaks 2026-07-28: asks by ending a round. Each call is written down. */
const MODERN = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } }));
const schema = { type: "object", properties: { day: { type: "string", enum: ["monday", "friday"] } }, required: ["day"] };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "server/discover") send(id, { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private" });
  else if (method === "tools/list") send(id, { tools: [{ name: "book", inputSchema: { type: "object" } }], ttlMs: 0, cacheScope: "private" });
  else if (method === "tools/call") {
    const { arguments: args, inputResponses, requestState } = params;
    appendFileSync(process.argv[2], JSON.stringify({ arguments: args, inputResponses, requestState }) + "\\n");
    if (inputResponses === undefined) {
      const inputRequests = { day: { method: "elicitation/create", params: { mode: "form", message: "Which day?", requestedSchema: schema } } };
      send(id, { resultType: "input_required", inputRequests, requestState: "kept" });
    } else send(id, { content: [{ type: "text", text: args.seats + " seats on " + inputResponses.day.content.day + ", as " + requestState }] });
  } else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } }));
}
`;

/** Answers the greeting after a while, and never lists its tools. */
const SLOW = `import { createInterface } from "node:readline";
const send = (answer) => setTimeout(() => console.log(JSON.stringify({ jsonrpc: "2.0", ...answer })), 400);
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: "slow", version: "1" };
  if (method === "initialize")
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  else if (method !== "tools/list" && id !== undefined) send({ id, error: { code: -32601, message: "no" } });
});
`;

test("a server that never lists its tools is given up in time, and the waiting screen names it", async () => {
  const file = join(home, "slow.mjs");
  writeFileSync(file, SLOW);
  const given = { kind: "stdio", ...node(file), env: {} } as const;
  const server = new McpServer("slow", given, { folder, connectMs: 1_500 });
  await expect(server.tools()).rejects.toMatchObject({ code: "MCP_DOWN", details: { server: "slow" } });
  await server.close();

  const asked = ["-e", "setTimeout(() => process.exit(1), 1_500)"];
  const mcpServers = { late: { command: process.execPath, args: asked }, gone: { command: "no-such-command" } };
  writeFileSync(join(config, "mcp.json"), JSON.stringify({ mcpServers }));
  const told: (readonly string[])[] = [];
  const places = { configFolder: config, dataFolder: join(home, "data"), folder };
  const connected = await connectServers(
    places,
    judgeBy({}, () => []),
    (servers) => told.push(servers),
  );
  expect([told, connected.warnings.length]).toEqual([[["late"]], 2]);
  await connected.close();
});
