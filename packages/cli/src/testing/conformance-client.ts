// For tests only: our MCP client as the conformance suite starts it, with the address of its server. It uses the same parts as
// the program: servers as tools of an agent, whose model calls each of them once; every question gets an empty answer, so that
// defaults count.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRunner, respond, type Tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { McpServer } from "../mcp/server.ts";
import { SignIn } from "../mcp/sign-in.ts";
import { mcpTools } from "../mcp/tools.ts";

const url = process.argv.at(-1)!;
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const oauth = {
  clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  ...(given.client_id && { clientId: given.client_id }),
  ...(given.client_secret && { clientSecret: given.client_secret }),
  ...(given.private_key_pem && { privateKey: given.private_key_pem, algorithm: given.signing_algorithm }),
  ...(scenario.startsWith("auth/client-credentials") && { grant: "client_credentials" }),
  // The metadata of these two name another issuer than the one that was asked, which we refuse by default.
  ...(/metadata-var[23]$/.test(scenario) && { skipIssuerCheck: "true" }),
};
const signIn = new SignIn(join(mkdtempSync(join(tmpdir(), "belay-conformance-")), "kept.json"), oauth);
// A person that says yes to everything: the suite's pages lead back at once.
const visit = async (page: URL) => {
  const { headers } = await fetch(page, { redirect: "manual" });
  return new URL(headers.get("location")!).searchParams;
};
const options = { folder: process.cwd(), signIn, visit };
const server = new McpServer("conformance", { kind: "http", url, headers: {}, oauth }, options);
const allow = async () => ({ effect: "allow", source: "default", words: "" }) as const;
const tools = mcpTools(server, await server.tools(), allow, new Set());
for (const each of tools) await callOnce(each);
await server.close();
process.exit();

async function callOnce(tool: Tool<unknown>): Promise<void> {
  const call = [{ call: tool.name, args: argsFor(tool.inputSchema) }];
  const model = scriptedModel(({ messages }) => (messages.at(-1)!.role === "tool" ? "done" : call));
  const runner = createRunner({
    agent: agent({ name: "belay", model, tools: [tool] }),
    permissions: { default: "allow" },
  });
  const session = await runner.open();
  let result = await session.run("go").result;
  while (result.status === "interrupted") {
    const answers = Object.fromEntries((await runner.inbox()).items.map(({ id }) => [id, respond({})]));
    result = await session.resume({ answers }).result;
  }
  console.log(tool.name, JSON.stringify(session.messages.at(-2)?.parts));
}

/** Something of the right kind for each argument. */
function argsFor(schema: unknown): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  const made = (type: string | undefined) =>
    type === "number" || type === "integer" ? 5 : type === "boolean" ? true : "text";
  return Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, made(type)]));
}
