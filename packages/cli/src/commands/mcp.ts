// belay mcp: the servers that are named in the config, and signing in at those on the web.

import { configFolderOf, currentFolder, dataFolderOf } from "../data/folders.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import { readMcpConfig, type ServerConfig } from "../mcp/config.ts";
import { signInFile } from "../mcp/connect.ts";
import { McpServer } from "../mcp/server.ts";
import { SignIn } from "../mcp/sign-in.ts";
import { openLanding } from "../mcp/visit.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { findId } from "./find.ts";
import { table } from "./table.ts";

export interface McpOptions extends CommandOptions {
  /** The folder whose .mcp.json is read; the current one by default. */
  readonly folder?: string;
  readonly config?: string;
}

/** Each server, and its tools or why it is not there. */
export async function listServers(options: McpOptions, io: CommandIo): Promise<number> {
  const folder = options.folder ?? currentFolder();
  const { servers } = readMcpConfig(configFolderOf(options.config), folder);
  const dataFolder = dataFolderOf(options.dataFolder);
  const found = await Promise.all(
    [...servers].map(async ([name, config]) => {
      const server = new McpServer(name, config, { folder, ...signInOf(dataFolder, name, config) });
      try {
        return { name, kind: config.kind, tools: (await server.tools()).map((tool) => tool.name) };
      } catch (error) {
        return { name, kind: config.kind, problem: error instanceof Error ? error.message : String(error) };
      } finally {
        await server.close();
      }
    }),
  );
  if (options.json) for (const each of found) io.stdout.write(`${writeJson(each)}\n`);
  else
    io.stdout.write(
      table(
        found.map(({ name, kind, tools, problem }) => [name, kind, problem ?? (tools ?? []).join(", ")]),
        io.columns,
      ),
    );
  if (found.length === 0) io.stderr.write(`${io.texts.commands.mcpNone}\n`);
  return found.some(({ problem }) => problem !== undefined) ? EXIT.failed : EXIT.done;
}

export async function login(given: string, options: McpOptions, io: CommandIo): Promise<number> {
  const folder = currentFolder();
  const { servers } = readMcpConfig(configFolderOf(options.config), folder);
  const name = findId("server", [...servers.keys()], given);
  const config = servers.get(name)!;
  const landing = await openLanding(name, (page) =>
    io.stderr.write(`${io.texts.commands.mcpVisit(sanitizeLine(page, 4_000))}\n`),
  );
  const file = signInFile(dataFolderOf(options.dataFolder), name, config);
  const signIn = new SignIn(file, config.kind === "http" ? (config.oauth ?? {}) : {}, landing.redirectUrl);
  // The port differs each time: a registration with an earlier one cannot be used.
  signIn.invalidateCredentials("all");
  const server = new McpServer(name, config, { folder, signIn, visit: landing.visit });
  try {
    const tools = await server.tools();
    io.stdout.write(`${io.texts.commands.mcpSignedIn(name, tools.length)}\n`);
    return EXIT.done;
  } finally {
    await server.close();
    landing.close();
  }
}

function signInOf(dataFolder: string, name: string, config: ServerConfig): { signIn?: SignIn } {
  return config.kind === "http" ? { signIn: new SignIn(signInFile(dataFolder, name, config), config.oauth ?? {}) } : {};
}
