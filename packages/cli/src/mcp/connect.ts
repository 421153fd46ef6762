// All servers of the config, side by side. A server that does not start is reported, and the others work. No server is awaited
// by those that come up sooner.

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
  /** The tools of the servers that are up by now: another list each time one comes. */
  readonly tools: readonly Tool<unknown>[];
  /** The problems so far; it may grow until `ready`. */
  readonly warnings: readonly Problem[];
  /** Servers that have neither come up nor failed. */
  readonly pending: readonly string[];
  /** Resolves when none is pending. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** The file of a server's grant: by its address, too, so that another server of the same name does not get it. */
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

/** After this time a waiting caller gets the names of the slow servers. */
const SLOW_MS = 1_000;

/** Resolves when every server is up or has failed. */
export async function connectServers(
  places: Places,
  judge: Judge,
  slow: (servers: readonly string[]) => void = () => {},
): Promise<Connected> {
  const connected = startServers(places, judge);
  const timer = setTimeout(() => slow(connected.pending), SLOW_MS);
  await connected.ready;
  clearTimeout(timer);
  return connected;
}

/** Returns at once; the tools come as their servers do. */
export function startServers({ configFolder, dataFolder, folder }: Places, judge: Judge): Connected {
  const { servers, untrusted } = readMcpConfig(configFolder, folder);
  const first = untrusted === undefined ? [] : [problem("MCP_UNTRUSTED", { ...untrusted, folder })];
  const all = [...servers].map(([name, config]) => {
    if (config.kind !== "http") return new McpServer(name, config, { folder });
    const signIn = new SignIn(signInFile(dataFolder, name, config), config.oauth ?? {});
    return new McpServer(name, config, { folder, signIn });
  });
  const pending = new Set(all.map(({ name }) => name));
  const taken = new Set<string>();
  /** By server, in the order of the config: names do not depend on which one was faster, unless two are the same. */
  const found = all.map((): readonly Tool<unknown>[] => []);
  const problems: (readonly Problem[])[] = all.map(() => []);
  let tools: readonly Tool<unknown>[] = [];
  const come = async (server: McpServer, at: number) => {
    try {
      found[at] = mcpTools(server, await server.tools(), judge, taken);
      tools = found.flat();
    } catch (error) {
      problems[at] = [asProblem(server.name, error)];
    }
    pending.delete(server.name);
  };
  const ready = Promise.all(all.map(come)).then(() => {});
  return {
    get tools() {
      return tools;
    },
    get warnings() {
      return [...first, ...problems.flat()];
    },
    get pending() {
      return [...pending];
    },
    ready,
    close: async () => void (await Promise.all(all.map((server) => server.close()))),
  };
}

function asProblem(server: string, error: unknown): Problem {
  if (error instanceof Problem) return error;
  return problem("MCP_DOWN", { server, reason: error instanceof Error ? error.message : String(error) }, error);
}
