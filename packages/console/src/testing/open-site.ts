// A web handler on a free port of this machine, with connections that a test can break.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";

export interface Site extends AsyncDisposable {
  readonly url: string;
  /** Breaks every connection and refuses new ones, or takes them again. */
  setOnline(online: boolean): Promise<void>;
}

/** `handler` is read for each request: a test may put another one in its place. */
export async function openSite(handler: { fetch(request: Request): Response | Promise<Response> }): Promise<Site> {
  const http = createAdaptorServer({
    fetch: (request: Request) => handler.fetch(request),
    overrideGlobalObjects: false,
  }) as Server;
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async setOnline(online) {
      if (online) {
        http.listen(port, "127.0.0.1");
        await once(http, "listening");
      } else {
        const closed = new Promise((resolve) => http.close(resolve));
        http.closeAllConnections();
        await closed;
      }
    },
    async [Symbol.asyncDispose]() {
      http.close();
      http.closeAllConnections();
    },
  };
}
