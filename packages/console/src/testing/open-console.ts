// The demo on a free port of this machine, for tests and pictures.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { demoProgram } from "../../../../scripts/console.mjs";
import { type Demo, startDemo } from "../demo/demo-server.ts";

export interface OpenConsole extends AsyncDisposable {
  readonly url: string;
  readonly demo: Demo;
  /** Breaks every connection and refuses new ones, or takes them again. */
  setOnline(online: boolean): Promise<void>;
}

export async function openConsole(settings: { tour?: boolean; delayMs?: number } = {}): Promise<OpenConsole> {
  const demo = await startDemo({ program: [await demoProgram()], ...settings });
  const http = createAdaptorServer({ fetch: demo.fetch, overrideGlobalObjects: false }) as import("node:http").Server;
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    demo,
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
      await demo.close();
    },
  };
}
