// The configured MCP servers: mcp.json in the config folder, in the form that other programs use; and .mcp.json of the
// folder, once the person has said in mcp.json that this folder is trusted: it names commands that would run.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { problem } from "../problem.ts";
import type { OAuthConfig } from "./sign-in.ts";

export type ServerConfig =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
      readonly timeoutMs?: number;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly oauth?: OAuthConfig;
      readonly timeoutMs?: number;
    };

export interface McpConfig {
  readonly servers: ReadonlyMap<string, ServerConfig>;
  /** There is a .mcp.json that is not used. */
  readonly untrusted?: { readonly file: string; readonly by: string };
}

type Env = Readonly<Record<string, string | undefined>>;

/** Throws `CONFIG_INVALID`. */
export function readMcpConfig(configFolder: string, folder: string, env: Env = process.env): McpConfig {
  const own = join(configFolder, "mcp.json");
  const ofFolder = join(folder, ".mcp.json");
  const mine = existsSync(own) ? readFile(own) : {};
  const trusted = textsOf(mine.trustedFolders ?? [], own, "trustedFolders").includes(folder);
  const theirs = trusted && existsSync(ofFolder) ? readFile(ofFolder) : {};
  const servers = new Map<string, ServerConfig>();
  // A server that is switched off in the person's own file is off, also if other files name it.
  for (const [name, config] of [...serversOf(theirs, ofFolder, env), ...serversOf(mine, own, env)]) {
    if (config === undefined) servers.delete(name);
    else servers.set(name, config);
  }
  return { servers, ...(!trusted && existsSync(ofFolder) && { untrusted: { file: ofFolder, by: own } }) };
}

type Fields = Readonly<Record<string, unknown>>;

function readFile(file: string): Fields {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw problem("CONFIG_INVALID", { file, problem: (error as Error).message }, error);
  }
  return fieldsOf(read, file, "it");
}

/** Undefined is a server that is switched off. */
function serversOf(config: Fields, file: string, env: Env): [string, ServerConfig | undefined][] {
  const servers = fieldsOf(config.mcpServers ?? {}, file, "mcpServers");
  return Object.entries(servers).map(([name, given]) => [name, serverOf(fieldsOf(given, file, name), file, name, env)]);
}

function serverOf(given: Fields, file: string, name: string, env: Env): ServerConfig | undefined {
  const refuse = (words: string) => problem("CONFIG_INVALID", { file, problem: `${name}: ${words}` });
  const { disabled = false } = given;
  if (typeof disabled !== "boolean") throw refuse(`disabled is ${JSON.stringify(disabled)}, neither true nor false`);
  if (disabled) return undefined;
  const { command, args = [], env: own = {}, cwd, url, headers = {}, oauth, timeoutMs } = given;
  if (timeoutMs !== undefined && !(typeof timeoutMs === "number" && timeoutMs > 0)) {
    throw refuse(`timeoutMs is ${JSON.stringify(timeoutMs)}, not a number above 0`);
  }
  const fill = (text: string) => expand(text, env, (variable) => refuse(`the variable ${variable} is not set`));
  const filled = (fields: unknown, what: string) =>
    Object.fromEntries(
      Object.entries(fieldsOf(fields, file, `${name}.${what}`)).map(([key, value]) => {
        if (typeof value !== "string") throw refuse(`${what}.${key} is not text`);
        return [key, fill(value)];
      }),
    );
  const time = timeoutMs === undefined ? {} : { timeoutMs };
  if (typeof command === "string" && url === undefined) {
    const place = typeof cwd === "string" ? { cwd: fill(cwd) } : {};
    const words = textsOf(args, file, `${name}.args`).map(fill);
    return { kind: "stdio", command: fill(command), args: words, env: filled(own, "env"), ...place, ...time };
  }
  if (typeof url === "string" && command === undefined) {
    const address = fill(url);
    if (!/^https?:\/\//.test(address)) throw refuse(`url is ${JSON.stringify(address)}, not an http or https address`);
    const signIn = oauth === undefined ? {} : { oauth: filled(oauth, "oauth") as OAuthConfig };
    return { kind: "http", url: address, headers: filled(headers, "headers"), ...signIn, ...time };
  }
  throw refuse("it needs either a command or a url");
}

/**
 * Replaces `${NAME}` by the variable of the environment, and `${NAME:-else}` by the variable or the default: keys need not
 * stand in the file.
 */
function expand(text: string, env: Env, missing: (variable: string) => Error): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, variable: string, otherwise?: string) => {
    const value = env[variable] ?? otherwise;
    if (value === undefined) throw missing(variable);
    return value;
  });
}

function fieldsOf(value: unknown, file: string, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw problem("CONFIG_INVALID", { file, problem: `${what} is not an object` });
}

function textsOf(value: unknown, file: string, what: string): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
  throw problem("CONFIG_INVALID", { file, problem: `${what} is not a list of texts` });
}
