// For tests only: our MCP client as the conformance suite starts it, with the address of its server. It uses what the
// program uses: servers as tools of an agent, whose model calls each of them once; every question is answered with nothing,
// so that defaults count.
import { agent, createRunner, respond, type Tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { McpServer } from "../mcp/server.ts";
import { mcpTools } from "../mcp/tools.ts";

const url = process.argv.at(-1)!;
const server = new McpServer("conformance", { kind: "http", url, headers: {} }, { folder: process.cwd() });
const tools = mcpTools(
  server,
  await server.tools(),
  async () => ({ effect: "allow", source: "default", words: "" }),
  new Set(),
);
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
    const answers = Object.fromEntries((await runner.inbox()).map(({ id }) => [id, respond({})]));
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
