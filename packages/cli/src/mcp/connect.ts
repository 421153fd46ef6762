// All servers of the config, side by side. One that does not come up is told, and the others work.

import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { Problem, problem } from "../problem.ts";
import { readMcpConfig, type ServerConfig } from "./config.ts";
import { McpServer } from "./server.ts";
import { SignIn } from "./sign-in.ts";
import { mcpTools } from "./tools.ts";

export interface Connected {
  readonly tools: readonly Tool<unknown>[];
  readonly warnings: readonly Problem[];
  close(): Promise<void>;
}

/** Where what a server granted is kept: by its address, too, so that nobody else who has its name is sent it. */
export function signInFile(dataFolder: string, name: string, config: ServerConfig): string {
  const address = config.kind === "http" ? config.url : "";
  const digest = createHash("sha256").update(address).digest("hex").slice(0, 16);
  return join(dataFolder, "mcp", `${name.replace(/[^A-Za-z0-9_-]/g, "_")}-${digest}.json`);
}

export interface Places {
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly folder: string;
}

/** After this long somebody who waits is told for whom. */
const SLOW_MS = 1_000;

export async function connectServers(
  { configFolder, dataFolder, folder }: Places,
  judge: Judge,
  slow: (servers: readonly string[]) => void = () => {},
): Promise<Connected> {
  const { servers, untrusted } = readMcpConfig(configFolder, folder);
  const warnings: Problem[] = [];
  if (untrusted !== undefined) {
    warnings.push(problem("MCP_UNTRUSTED", { ...untrusted, folder }));
  }
  const all = [...servers].map(([name, config]) => {
    if (config.kind !== "http") return new McpServer(name, config, { folder });
    const signIn = new SignIn(signInFile(dataFolder, name, config), config.oauth ?? {});
    return new McpServer(name, config, { folder, signIn });
  });
  const open = new Set(all.map(({ name }) => name));
  const timer = setTimeout(() => slow([...open]), SLOW_MS);
  const listed = await Promise.allSettled(all.map((server) => server.tools().finally(() => open.delete(server.name))));
  clearTimeout(timer);
  const taken = new Set<string>();
  const tools: Tool<unknown>[] = [];
  for (const [at, found] of listed.entries()) {
    if (found.status === "fulfilled") tools.push(...mcpTools(all[at]!, found.value, judge, taken));
    else warnings.push(asProblem(all[at]!.name, found.reason));
  }
  return { tools, warnings, close: async () => void (await Promise.all(all.map((server) => server.close()))) };
}

function asProblem(server: string, error: unknown): Problem {
  if (error instanceof Problem) return error;
  return problem("MCP_DOWN", { server, reason: error instanceof Error ? error.message : String(error) }, error);
}
