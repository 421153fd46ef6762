// Serves a web handler at a port of this machine, and opens addresses in the browser.

import { spawn } from "node:child_process";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { problem } from "../problem.ts";

export interface Listening {
  /** The address with a slash at its end. */
  readonly url: string;
  /** Ends every connection. */
  close(): void;
}

interface Place {
  readonly host: string;
  readonly port: number;
  /** Takes a free port if this one is taken. Else that is a problem. */
  readonly orFree?: boolean;
}

export async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port, orFree = false }: Place,
): Promise<Listening> {
  const http = createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server;
  const on = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      http.once("error", reject);
      http.listen(wanted, host, () => {
        http.off("error", reject);
        resolve();
      });
    });
  await on(port)
    .catch((error: NodeJS.ErrnoException) => {
      if (orFree && error.code === "EADDRINUSE") return on(0);
      throw error;
    })
    .catch((error: Error) => {
      throw problem("PORT_TAKEN", { host, port, reason: error.message }, error);
    });
  const shown = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${(http.address() as AddressInfo).port}/`,
    close() {
      http.close();
      http.closeAllConnections();
    },
  };
}

/** True of a name or address that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host);
}

/** Shows an address in the person's browser. A machine without one still has the printed address. */
export function openBrowser(url: string): void {
  const { platform, env } = process;
  if (platform === "linux" && !env.DISPLAY && !env.WAYLAND_DISPLAY && !env.WSL_DISTRO_NAME) return;
  const [program, ...args] =
    platform === "darwin" ? ["open"] : platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  spawn(program!, [...args, url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
