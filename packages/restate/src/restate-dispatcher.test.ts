import { connect } from "node:net";
import { expect, test } from "vitest";
import { freePort } from "../../../scripts/services/keep.mjs";
import { restateDispatcher } from "./restate-dispatcher.ts";

test("DP7: serving ends although a peer keeps a connection on which it has asked nothing", async () => {
  const [port, nothing] = [await freePort(), await freePort()];
  const away = `http://127.0.0.1:${nothing}`;
  const dispatcher = restateDispatcher({ ingress: away, admin: away, listen: { port } });
  const ending = new AbortController();
  const served = dispatcher.serve(async () => ({}), { concurrency: 1, signal: ending.signal });
  const peer = await reached(port);
  const left = new Promise((resolve) => peer.once("close", resolve));
  ending.abort();
  await expect(served).resolves.toBeUndefined();
  await left;
});

/** Connects as soon as the port is open. */
async function reached(port: number) {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    if (isOpen) return socket;
  }
}
