// For tests only: the program in a folder, with threads and rules of its own, and a model server with a script.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { bundledProgram, type Program } from "./program.ts";
import { ENTER, type TerminalOptions } from "./terminal.ts";

interface TalkOptions extends Partial<TerminalOptions> {
  /** Rules for calls that run without asking. */
  readonly rules?: object;
  readonly args?: readonly string[];
  readonly folder?: string;
  /** Another program than belay, given to `testTalks`. */
  readonly main?: string;
  /** The words of the first prompt. */
  readonly ready?: string;
}

/** Longer than the moment in which a new dialog takes no key. */
export const SEEN_MS = 400;

/** A reply that calls for a file to be written. */
export const write = (path: string, text = "hello\n", id = path) => ({ call: "write", id, args: { path, text } });

interface ModelServer<Reply> {
  readonly url: string;
  script(...replies: Reply[]): void;
  close(): Promise<void>;
}

/** Bundles once for a test file; each talk has a model server of its own, and all of it is ended after the file. */
export function testTalks<Reply, Server>(
  openServer: () => Promise<Server & ModelServer<Reply>>,
  ...more: readonly string[]
) {
  let bundled: Program | undefined;
  const servers: ModelServer<Reply>[] = [];
  beforeAll(async () => {
    bundled = await bundledProgram(more);
  });
  afterAll(async () => {
    bundled?.close();
    await Promise.all(servers.map((server) => server.close()));
  });
  const program = () => bundled!;
  return { program, talk };

  async function talk(replies: readonly Reply[], options: TalkOptions = {}) {
    const wire = await openServer();
    servers.push(wire);
    wire.script(...replies);
    return Object.assign(await openTalk(program(), wire.url, options), { wire });
  }
}

async function openTalk(program: Program, url: string, options: TalkOptions) {
  const folder = options.folder ?? mkdtempSync(join(program.place, "folder-"));
  const config = mkdtempSync(join(program.place, "config-"));
  if (options.rules !== undefined) writeFileSync(join(config, "permissions.json"), JSON.stringify(options.rules));
  const env = { BELAY_DATA: join(folder, ".data"), BELAY_CONFIG: config, ...options.env };
  const args = ["--base-url", url, "--model", "test", "--no-mcp", ...(options.args ?? [])];
  const terminal = program.open(args, { ...options, cwd: folder, env }, options.main);
  await terminal.untilSeen(options.ready ?? "Ask, or tell it");
  return Object.assign(terminal, { folder, env, ask: (text: string) => terminal.press(text + ENTER) });
}
