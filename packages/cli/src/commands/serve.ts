// belay serve: the threads of this machine over HTTP, for pages and programs. It listens at this machine's own address unless
// it is given a token.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { belayServer } from "@belay/server";
import { createAdaptorServer } from "@hono/node-server";
import { inDataFolder } from "../data/folders.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { toldToEnd } from "../headless/told-to-end.ts";
import { problem } from "../problem.ts";
import type { SetupOptions } from "../setup.ts";
import { userName } from "../user-name.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { folderRunner } from "./folder-runner.ts";

export interface ServeOptions extends CommandOptions, SetupOptions {
  readonly port: number;
  readonly host: string;
  readonly token?: string;
  readonly open?: boolean;
}

const LEAST_TOKEN = 16;
const DRAIN_MS = 10_000;
/** How fast the demo speaks to somebody who looks on. */
const DEMO_DELAY_MS = 30;

export async function serve(options: ServeOptions, io: CommandIo): Promise<number> {
  const { host, port } = options;
  const isOwn = /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host);
  if (options.token !== undefined ? options.token.length < LEAST_TOKEN : !isOwn) throw problem("SERVE_OPEN", { host });
  const end = toldToEnd(process, ["SIGINT", "SIGTERM", "SIGHUP"]);
  const folders = await folderRunner({ ...options, unattended: false, delayMs: DEMO_DELAY_MS });
  const token = options.token ?? tokenIn(folders.setup.dataFolder);
  const server = belayServer({
    runner: folders.runner,
    token,
    user: userName(),
    // A worker of this process would run threads of any folder in this one.
    work: false,
    allowedHosts: isOwn ? [] : namesOf(host),
  });
  const http = createAdaptorServer({ fetch: server.fetch, overrideGlobalObjects: false });
  try {
    await new Promise<void>((resolve, reject) => {
      http.once("error", reject);
      http.listen(port, host, () => resolve());
    }).catch((error: Error) => {
      throw problem("PORT_TAKEN", { host, port, reason: error.message }, error);
    });
    const shown = host.includes(":") ? `[${host}]` : host;
    const url = `http://${shown}:${(http.address() as AddressInfo).port}/#t=${encodeURIComponent(token)}`;
    io.stdout.write(`${io.texts.commands.serving(url)}\n`);
    io.stderr.write(`${io.texts.commands.servingEnds}\n`);
    if (options.open) openBrowser(url);
    if (!end.signal.aborted) await new Promise((resolve) => end.signal.addEventListener("abort", resolve));
    return end.code === EXIT.interrupted ? EXIT.done : (end.code ?? EXIT.done);
  } finally {
    await server.close({ timeoutMs: DRAIN_MS });
    http.close();
    (http as { closeAllConnections?(): void }).closeAllConnections?.();
    await folders.close();
    end.end();
  }
}

/** The token of this machine's servers, made once. Only its owner may read it. */
export function tokenIn(dataFolder: string): string {
  const file = join(dataFolder, "server-token");
  return inDataFolder(dataFolder, () => {
    try {
      const token = readFileSync(file, "utf8").trim();
      chmodSync(file, 0o600);
      if (token.length >= LEAST_TOKEN) return token;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    const token = randomBytes(32).toString("base64url");
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    return token;
  });
}

/** The names under which other machines may know an address; of "every address", those of this machine. */
function namesOf(host: string): readonly string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host.includes(":") ? `[${host}]` : host];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return [hostname(), ...addresses.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address))];
}

function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  // The line that was printed has the address, too.
  spawn(program!, [...args, url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
