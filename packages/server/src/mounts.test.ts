import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@belay/client";
import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { createAdaptorServer, getRequestListener } from "@hono/node-server";
// @ts-expect-error: it brings no types, and a test of one mount needs none.
import express from "express";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { type BelayServer, belayServer, toNext } from "./index.ts";

type Mount = (server: BelayServer) => Pick<Server, "listen" | "close" | "address" | "once">;

const mounts: Record<string, { readonly basePath: string; readonly mount: Mount }> = {
  "Node by @hono/node-server": {
    basePath: "/",
    mount: ({ fetch }) => createAdaptorServer({ fetch }) as Server,
  },
  "node:http by its listener": {
    basePath: "/belay",
    mount: ({ fetch }) => createServer(getRequestListener(fetch)),
  },
  Hono: {
    basePath: "/belay",
    mount({ fetch }) {
      const app = new Hono();
      app.get("/", (c) => c.text("mine"));
      app.mount("/belay", fetch);
      return createAdaptorServer({ fetch: app.fetch }) as Server;
    },
  },
  Express: {
    basePath: "/belay",
    mount({ fetch }) {
      const app = express();
      app.get("/", (_: unknown, response: { send(text: string): void }) => response.send("mine"));
      app.use("/belay", getRequestListener(fetch));
      return createServer(app);
    },
  },
  "a Next route": {
    basePath: "/belay",
    mount(server) {
      const handlers = toNext(server) as Record<string, (request: Request) => Promise<Response>>;
      return createAdaptorServer({
        fetch: (request: Request) => handlers[request.method]!(request),
      }) as Server;
    },
  },
};

test.each(Object.entries(mounts))("mounted in %s it runs, streams and stops", async (_, { basePath, mount }) => {
  const model = scriptedModel([[{ text: ["A rope,"] }, { stall: true }], "A device."]);
  const runner = createRunner({ agent: agent({ name: "guide", model }) });
  const server = belayServer({ runner, basePath });
  const http = mount(server);
  http.listen(0, "127.0.0.1");
  await once(http as Server, "listening");
  try {
    const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const url = `${origin}${basePath}`;
    const thread = connect({ url, token: server.token }).open("a/b c");
    const run = await thread.run("What is a belay?");
    for await (const event of run) {
      if (event.type === "text-delta") expect(await run.interrupt()).toMatchObject({ partialText: "A rope," });
    }
    expect(await (await thread.resume({ input: "More." })).result).toMatchObject({ text: "A device." });
    const stream = await fetch(`${url.replace(/\/$/, "")}/v1/threads/a%2Fb%20c/events?tail=1`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    expect(stream.headers.get("x-belay-head")).toMatch(/^\d+$/);
    expect(stream.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    await stream.body!.cancel();
    const session = await fetch(`${url.replace(/\/$/, "")}/v1/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: server.token }),
    });
    expect(session.headers.get("set-cookie")).toContain(`Path=${basePath};`);
    // Elsewhere on the same address the application answers for itself.
    if (basePath !== "/" && /Hono|Express/.test(_)) expect(await (await fetch(origin)).text()).toBe("mine");
  } finally {
    await server.close({ timeoutMs: 1000 });
    http.close();
    (http as Server).closeAllConnections();
  }
});
