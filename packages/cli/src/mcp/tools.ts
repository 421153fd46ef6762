// The tools of MCP servers as tools of the agent: server__tool. Each round of a call is a step, so a question of the server
// outlives this process: the question, and the state that the server wants back, are on record.

import { humanApproval, jsonSchema, type Tool, type ToolContext, tool } from "@belay/core";
import type {
  CallToolResult,
  ContentBlock,
  ElicitResult,
  InputRequest,
  InputRequiredResult,
  Tool as McpTool,
} from "@modelcontextprotocol/client";
import type { Judge } from "../permissions/judge.ts";
import { problem } from "../problem.ts";
import { elicit } from "./elicit.ts";
import { type CallOutcome, elicitationOf, type McpServer } from "./server.ts";

const MOST_ROUNDS = 20;
const MOST_CHARS = 100_000;
const TIMEOUT_MS = 10 * 60_000;

export function mcpTools(
  server: McpServer,
  listed: readonly McpTool[],
  judge: Judge,
  taken: Set<string>,
): Tool<unknown>[] {
  return listed.map((each) => {
    const name = nameOf(server.name, each.name, taken);
    taken.add(name);
    return mcpTool(server, each, name, judge);
  });
}

function mcpTool(server: McpServer, given: McpTool, name: string, judge: Judge): Tool<unknown> {
  const { readOnlyHint: readOnly = false, destructiveHint, idempotentHint = false, title } = given.annotations ?? {};
  return tool({
    name,
    description: [given.title ?? title, given.description, `(MCP server ${server.name})`].filter(Boolean).join(" "),
    input: inputOf(given),
    // A server of the same name may be another one in another folder.
    version: `mcp in ${server.folder}`,
    readOnly,
    // Absent hints are taken for the worse, as the protocol has it.
    destructive: !readOnly && destructiveHint !== false,
    onCrash: readOnly || idempotentHint ? "retry" : "ask",
    timeoutMs: server.timeoutMs ?? TIMEOUT_MS,
    needsApproval: async (args) => {
      if ((await judge(name, args as never)).effect === "allow") return false;
      return humanApproval(`Run ${given.name} of the MCP server ${server.name}?`, { context: { server: server.name } });
    },
    execute: (args, ctx) => call(server, given, args as Record<string, unknown>, ctx),
  });
}

/** Reports the server's progress as it comes, and returns its result. */
async function* call(server: McpServer, given: McpTool, args: Record<string, unknown>, ctx: ToolContext) {
  const told: object[] = [];
  let wake = () => {};
  let done = false;
  const onprogress = ({ progress, total, message }: { progress?: number; total?: number; message?: string }) => {
    told.push({ progress, total, message });
    wake();
  };
  const result = rounds(server, given, args, ctx, onprogress as (progress: object) => void).finally(() => {
    done = true;
    wake();
  });
  result.catch(() => {});
  for (;;) {
    for (const progress of told.splice(0)) yield JSON.parse(JSON.stringify(progress)) as object;
    if (done && told.length === 0) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (done || told.length > 0) resolve();
    });
  }
  return outputOf(server, given.name, await result);
}

async function rounds(
  server: McpServer,
  { name }: McpTool,
  args: Record<string, unknown>,
  ctx: ToolContext,
  onprogress: (progress: object) => void,
): Promise<CallToolResult> {
  let asks = 0;
  // Servers from before 2026 ask while their call is open: it stays open while a person thinks.
  const listener = {
    elicit: (asked: Parameters<typeof elicit>[2]) => elicit(ctx, server.name, asked, `elicit#${++asks}`),
  };
  const options = { signal: ctx.signal, onprogress };
  const send = (more?: object) => server.call(name, args, listener, { ...options, ...(more && { more }) });
  if (!(await server.asksByRounds())) return (await send()) as CallToolResult;
  let more: object | undefined;
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    // On record, with the state that the server wants back: another process can continue from here.
    const outcome = await ctx.step(`round#${round}`, () => send(more));
    if (!isInputRequired(outcome)) return outcome;
    more = { inputResponses: await answers(server, outcome, ctx, round), requestState: outcome.requestState };
  }
  throw problem("MCP_FAILED", { server: server.name, tool: name, reason: `it asked more than ${MOST_ROUNDS} times.` });
}

function isInputRequired(outcome: CallOutcome): outcome is InputRequiredResult {
  return (outcome as { resultType?: string }).resultType === "input_required";
}

async function answers(
  server: McpServer,
  { inputRequests = {} }: InputRequiredResult,
  ctx: ToolContext,
  round: number,
) {
  const found = await Promise.all(
    Object.entries(inputRequests).map(
      async ([key, request]) => [key, await answer(server, request, ctx, `round#${round}:${key}`)] as const,
    ),
  );
  return Object.fromEntries(found);
}

async function answer(server: McpServer, request: InputRequest, ctx: ToolContext, key: string): Promise<object> {
  switch (request.method) {
    case "elicitation/create":
      return elicit(ctx, server.name, elicitationOf(request.params), key);
    case "roots/list":
      return server.roots();
    default:
      // A request for a model is refused: we announced none.
      return { action: "cancel" } satisfies ElicitResult;
  }
}

function outputOf(
  server: McpServer,
  name: string,
  { content = [], structuredContent, isError }: CallToolResult,
): string {
  const text =
    content.map(blockText).join("\n") || (structuredContent === undefined ? "" : JSON.stringify(structuredContent));
  if (isError)
    throw problem("MCP_FAILED", {
      server: server.name,
      tool: name,
      reason: text.slice(0, 4_000) || "it does not say why.",
    });
  if (text.length <= MOST_CHARS) return text;
  return `${text.slice(0, MOST_CHARS).toWellFormed()}\n[it goes on; the rest was left out]`;
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type}, ${block.mimeType}, ${Math.floor((block.data.length * 3) / 4)} bytes]`;
    case "resource_link":
      return `[${block.name}: ${block.uri}]`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[${block.resource.uri}]`;
    default:
      return `[${(block as { type: string }).type}]`;
  }
}

/** A value that we cannot check is left to the server, which checks it anyway. */
function inputOf(given: McpTool) {
  try {
    return jsonSchema({ ...given.inputSchema, type: "object" });
  } catch {
    const { properties = {} } = given.inputSchema as { properties?: object };
    const known = Object.fromEntries(Object.keys(properties).map((key) => [key, {}]));
    return jsonSchema({ type: "object", properties: known });
  }
}

/** Returns a name that every provider takes: letters, digits, _ and -, 64 at most, and unique. */
function nameOf(server: string, name: string, taken: ReadonlySet<string>): string {
  const clean = `${server}__${name}`.replace(/[^A-Za-z0-9_-]/g, "_").replace(/^([^A-Za-z_])/, "_$1");
  for (let at = 0; ; at++) {
    const end = at === 0 ? "" : `_${at}`;
    const made = clean.slice(0, 64 - end.length) + end;
    if (!taken.has(made)) return made;
  }
}
