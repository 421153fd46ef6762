// Real providers against a server on loopback that speaks their wire formats.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { agent, createRunner } from "@belay/core";
import { type WireServer, wireServer } from "@belay/testkit/wire";
import { afterEach, describe, expect, test } from "vitest";
import { chooseModel, type ModelWish } from "./choose.ts";

const open: (Server | WireServer)[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) {
    if ("closeAllConnections" in each) each.closeAllConnections();
    await each.close();
  }
});

async function wired(): Promise<WireServer> {
  const wire = await wireServer();
  open.push(wire);
  return wire;
}

/** A server that names models, as Ollama and LM Studio do. */
async function naming(...models: string[]): Promise<number> {
  const server: Server = createServer((request, response) => {
    if (request.url !== "/v1/models") return void response.writeHead(404).end();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: models.map((id) => ({ id, object: "model" })) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(server);
  return (server.address() as AddressInfo).port;
}

/** An address without a listener. */
const nowhere = { ports: { ollama: 1, lmstudio: 1 } } as const;

async function say({ model }: Awaited<ReturnType<typeof chooseModel>>) {
  const session = await createRunner({ agent: agent({ name: "belay", model }) }).open();
  return session.run("hi").result;
}

describe("which model speaks", () => {
  const names = async (wish: ModelWish) => {
    const { name, demo } = await chooseModel({ look: nowhere, env: {}, ...wish });
    return [name, demo];
  };

  test("the one that was asked for, a key, a local server, the demo: in this order", async () => {
    const ports = { ollama: await naming("nomic-embed-text", "qwen3:8b"), lmstudio: await naming("gemma") };
    // Both servers run: the test is not about the time to find them.
    const patienceMs = 30_000;
    const keys = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" };
    expect(await names({ env: keys, model: "openai/gpt-5-mini", look: { ports, patienceMs } })).toEqual([
      "openai/gpt-5-mini",
      false,
    ]);
    expect(await names({ env: keys, look: { ports, patienceMs } })).toEqual(["anthropic/claude-sonnet-5-5", false]);
    expect(await names({ env: { OPENAI_API_KEY: "o" }, look: { ports, patienceMs } })).toEqual([
      "openai/gpt-5.6",
      false,
    ]);
    expect(await names({ look: { ports, patienceMs } })).toEqual(["ollama/qwen3:8b", false]);
    expect(await names({ look: { ports: { ...ports, ollama: 1 }, patienceMs } })).toEqual(["lmstudio/gemma", false]);
    expect(await names({})).toEqual(["demo (offline)", true]);
    expect(await names({ env: keys, model: "demo" })).toEqual(["demo (offline)", true]);
    expect(await names({ model: "lmstudio/other", look: { ports, patienceMs } })).toEqual(["lmstudio/other", false]);
    const base = { BELAY_BASE_URL: `http://127.0.0.1:${ports.ollama}/v1` };
    const host = `127.0.0.1:${ports.ollama}`;
    expect(await names({ env: { ...base, ...keys } })).toEqual([`${host}/qwen3:8b`, false]);
    expect(await names({ env: base, model: "mine" })).toEqual([`${host}/mine`, false]);
    expect(await names({ env: base, model: "demo" })).toEqual(["demo (offline)", true]);
    expect(await names({ env: { BELAY_MODEL: "demo" }, baseUrl: base.BELAY_BASE_URL })).toEqual([
      `${host}/qwen3:8b`,
      false,
    ]);
    expect(await names({ env: { BELAY_MODEL: "demo", ...keys } })).toEqual(["demo (offline)", true]);
  });

  test("a long thread is summed up: late for models far away, early for those on this machine and the demo", async () => {
    const tokens = async (wish: ModelWish) => (await chooseModel({ look: nowhere, env: {}, ...wish })).contextTokens;
    expect(await tokens({ env: { OPENAI_API_KEY: "o" } })).toBe(150_000);
    expect(await tokens({ baseUrl: "http://127.0.0.1:1/v1", model: "m" })).toBe(24_000);
    expect(await tokens({ baseUrl: "http://127.0.0.1:1/v1", model: "m", env: { BELAY_CONTEXT_TOKENS: "8000" } })).toBe(
      8_000,
    );
    expect(await tokens({})).toBe(24_000);
  });

  test("an impossible choice is refused with a hint: no key, unknown provider, no server, no address", async () => {
    await expect(names({ model: "anthropic/x" })).rejects.toMatchObject({ code: "MODEL_KEY" });
    await expect(names({ model: "gpt-5" })).rejects.toMatchObject({ code: "MODEL_UNKNOWN" });
    await expect(names({ model: "ollama/x" })).rejects.toMatchObject({ code: "MODEL_SERVER" });
    await expect(names({ baseUrl: "localhost:1234" })).rejects.toMatchObject({ code: "MODEL_SERVER" });
    await expect(names({ baseUrl: "http://127.0.0.1:1/v1" })).rejects.toMatchObject({ code: "MODEL_SERVER" });
  });

  test("a server that is silent does not hold up the start", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(server);
    const { port } = server.address() as AddressInfo;
    expect(await names({ look: { ports: { ollama: port, lmstudio: 1 }, patienceMs: 30 } })).toEqual([
      "demo (offline)",
      true,
    ]);
  });
});

describe("what is sent", () => {
  test("anthropic, openai and compatible servers are spoken to with the key, and their words come back", async () => {
    const wire = await wired();
    wire.script(["from anthropic"], ["from openai"], ["from a server"]);
    const env = {
      ANTHROPIC_API_KEY: "key-a",
      ANTHROPIC_BASE_URL: wire.url,
      OPENAI_API_KEY: "key-o",
      OPENAI_BASE_URL: wire.url,
    };
    expect(await say(await chooseModel({ env, model: "anthropic/claude-x" }))).toMatchObject({
      text: "from anthropic",
    });
    expect(await say(await chooseModel({ env, model: "openai/gpt-x" }))).toMatchObject({ text: "from openai" });
    expect(
      await say(await chooseModel({ env: { BELAY_API_KEY: "key-b" }, baseUrl: wire.url, model: "m" })),
    ).toMatchObject({
      text: "from a server",
    });
    const [anthropic, openai, server] = await Promise.all([1, 2, 3].map((n) => wire.arrived(n)));
    expect([anthropic!.headers["x-api-key"], anthropic!.body.model]).toEqual(["key-a", "claude-x"]);
    expect([openai!.headers.authorization, openai!.body.model]).toEqual(["Bearer key-o", "gpt-x"]);
    expect([server!.headers.authorization, server!.body.model]).toEqual(["Bearer key-b", "m"]);
  });

  test("base URLs are taken as each provider's own tools take them: with or without the version", async () => {
    const wire = await wired();
    const host = wire.url.replace(/\/v1$/, "");
    for (const url of [host, `${host}/`, `${host}/v1`, `${host}/v1/`]) {
      wire.script(["one"], ["two"]);
      const env = { ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: url, OPENAI_API_KEY: "o", OPENAI_BASE_URL: url };
      expect(await say(await chooseModel({ env, model: "anthropic/x" }))).toMatchObject({ text: "one" });
      expect(await say(await chooseModel({ env, model: "openai/x" }))).toMatchObject({ text: "two" });
    }
    expect(new Set(wire.requests.map(({ path }) => path))).toEqual(new Set(["/v1/messages", "/v1/responses"]));
  });

  test("Anthropic caches the instructions and the history: both are marked", async () => {
    const wire = await wired();
    wire.script(["one"], ["two"]);
    const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: wire.url };
    const { model } = await chooseModel({ env, model: "anthropic/claude-x" });
    const session = await createRunner({ agent: agent({ name: "belay", model, instructions: "Be brief." }) }).open();
    await session.run("first").result;
    await session.run("second").result;
    const { system, messages } = (await wire.arrived(2)).body;
    const cache_control = { type: "ephemeral" };
    expect(system).toEqual([{ type: "text", text: "Be brief.", cache_control }]);
    expect(messages).toEqual([
      { role: "user", content: [{ type: "text", text: "first" }] },
      { role: "assistant", content: [{ type: "text", text: "one" }] },
      { role: "user", content: [{ type: "text", text: "second", cache_control }] },
    ]);
  });

  test("S1: a stop reaches the provider's socket", async () => {
    const wire = await wired();
    wire.script(["begun", { stall: true }]);
    const { model } = await chooseModel({ env: {}, baseUrl: wire.url, model: "m" });
    const session = await createRunner({ agent: agent({ name: "belay", model }) }).open();
    const run = session.run("hi");
    for await (const event of run) if (event.type === "text-delta") break;
    await session.interrupt();
    expect(await (await wire.arrived(1)).ended).toBe("closed");
    expect(await run.result).toMatchObject({ status: "interrupted", partialText: "begun" });
  });

  test("data that a provider signed goes back to it", async () => {
    const wire = await wired();
    wire.script([{ reasoning: "hm", signature: "sig" }, "one"], ["two"]);
    const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: wire.url };
    const { model } = await chooseModel({ env, model: "anthropic/claude-x" });
    const session = await createRunner({ agent: agent({ name: "belay", model }) }).open();
    await session.run("first").result;
    await session.run("second").result;
    expect(JSON.stringify((await wire.arrived(2)).body.messages)).toContain("sig");
  });
});
