// For tests only: the program in a folder, with threads and rules of its own, and a model server that answers as told.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "./program.ts";
import { ENTER, type Terminal, type TerminalOptions } from "./terminal.ts";

export interface TalkOptions extends Partial<TerminalOptions> {
  /** The address of the model server; the demo model where there is none. */
  readonly url?: string;
  /** What may run without asking. */
  readonly rules?: object;
  readonly args?: readonly string[];
  readonly folder?: string;
  /** What the first prompt says. */
  readonly ready?: string;
}

export type Talk = Terminal & {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  ask(text: string): void;
};

export async function openTalk(program: Program, options: TalkOptions): Promise<Talk> {
  const folder = options.folder ?? mkdtempSync(join(program.place, "folder-"));
  const config = mkdtempSync(join(program.place, "config-"));
  if (options.rules !== undefined) writeFileSync(join(config, "permissions.json"), JSON.stringify(options.rules));
  const env = { BELAY_DATA: join(folder, ".data"), BELAY_CONFIG: config, ...options.env };
  const model = options.url === undefined ? ["--model", "demo"] : ["--base-url", options.url, "--model", "test"];
  const terminal = program.open([...model, "--no-mcp", ...(options.args ?? [])], { ...options, cwd: folder, env });
  await terminal.untilSeen(options.ready ?? "Ask, or tell it");
  return Object.assign(terminal, { folder, env, ask: (text: string) => terminal.press(text + ENTER) });
}
