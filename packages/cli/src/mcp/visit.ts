// Takes a person to a page and waits for the return: at a port of this machine that no other machine reaches, once.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { problem } from "../problem.ts";

const PATIENCE_MS = 5 * 60_000;
const DONE =
  "<!doctype html><meta charset=utf-8><title>belay</title><p>Done. You can close this page and go back to the terminal.";

export interface Landing {
  readonly redirectUrl: string;
  /** `expected` must come back with the person: else another site sent them. */
  visit(page: URL, expected: string | undefined): Promise<URLSearchParams>;
  close(): void;
}

/** `tell` gets the address, for a person with a browser on another machine. */
export async function openLanding(server: string, tell: (page: string) => void): Promise<Landing> {
  let landed: (params: URLSearchParams) => void = () => {};
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    if (url.pathname !== "/callback") return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", connection: "close" }).end(DONE);
    landed(url.searchParams);
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(0, "127.0.0.1", resolve);
  });
  return {
    redirectUrl: `http://127.0.0.1:${(http.address() as AddressInfo).port}/callback`,
    async visit(page, expected) {
      const back = new Promise<URLSearchParams>((resolve, reject) => {
        const late = setTimeout(() => reject(failed(server, "nobody came back in time")), PATIENCE_MS);
        landed = (params) => {
          clearTimeout(late);
          const error = params.get("error");
          if (error !== null) reject(failed(server, error));
          else if (expected !== undefined && params.get("state") !== expected)
            reject(failed(server, "somebody else came back"));
          else resolve(params);
        };
      });
      tell(page.href);
      openBrowser(page.href);
      return back;
    },
    close() {
      http.closeAllConnections();
      http.close();
    },
  };
}

function failed(server: string, reason: string): Error {
  return problem("MCP_DOWN", { server, reason: `the sign-in failed: ${reason}` });
}

/** Without a browser, the printed address has to do. */
function openBrowser(page: string): void {
  const byPlatform = { darwin: "open", win32: "explorer" } as Partial<Record<NodeJS.Platform, string>>;
  const command = process.env.BROWSER || (byPlatform[process.platform] ?? "xdg-open");
  const child = spawn(command, [page], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
