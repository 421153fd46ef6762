// For tests only: the program as it is published, bundled from the sources as they are.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sources } from "../../../../scripts/sources.mjs";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const cli = join(root, "packages/cli");

export interface Program {
  readonly main: string;
  /** A folder that is there as long as the tests run. */
  readonly place: string;
  /** The program, or one of `more`, in a terminal of its own. */
  open(args?: readonly string[], options?: Partial<TerminalOptions>, main?: string): Terminal;
  /** Anything in a terminal of its own. */
  openShell(script: string, options?: Partial<TerminalOptions>): Terminal;
  /** Its environment: folders of its own, no keys. */
  readonly env: Readonly<Record<string, string | undefined>>;
  close(): void;
}

async function bundleTo(folder: string, more: readonly string[]): Promise<void> {
  const { bundleCli } = (await import(join(root, "scripts/bundle-cli.mjs"))) as {
    bundleCli(dir: string, outdir: string, alias: Record<string, string>, more: Record<string, string>): Promise<void>;
  };
  const others = Object.fromEntries(more.map((name) => [name, join(cli, "src/testing", `${name}.ts`)]));
  await bundleCli(cli, join(folder, "dist"), sources, others);
  // The program reads its version beside its folder.
  copyFileSync(join(cli, "package.json"), join(folder, "package.json"));
}

/** `more`: other programs of this folder, by the names of their files. */
export async function bundledProgram(more: readonly string[] = []): Promise<Program> {
  const { cachedBundle } = (await import(join(root, "scripts/cached-bundle.mjs"))) as {
    cachedBundle(name: string, make: (folder: string) => Promise<void>, more: readonly string[]): Promise<string>;
  };
  const outdir = join(await cachedBundle("cli", (folder) => bundleTo(folder, more), more), "dist");
  const place = mkdtempSync(join(tmpdir(), "belay-app-"));
  const main = join(outdir, "belay.js");
  const env = {
    HOME: place,
    BELAY_DATA: join(place, "data"),
    BELAY_CONFIG: join(place, "config"),
    BELAY_DEMO_DELAY_MS: "20",
    BELAY_THEME: "dark",
  };
  const terminals: Terminal[] = [];
  const kept = (terminal: Terminal) => {
    terminals.push(terminal);
    return terminal;
  };
  const optionsOf = (options: Partial<TerminalOptions>) => ({
    cwd: place,
    ...options,
    env: { ...env, ...options.env },
  });
  return {
    main,
    place,
    env,
    open: (args = [], options = {}, name = "belay") =>
      kept(openTerminal(process.execPath, [join(outdir, `${name}.js`), ...args], optionsOf(options))),
    openShell: (script, options = {}) => kept(openTerminal("bash", ["--norc", "-c", script], optionsOf(options))),
    close() {
      for (const terminal of terminals) terminal.kill();
      rmSync(place, { recursive: true, force: true });
    },
  };
}
