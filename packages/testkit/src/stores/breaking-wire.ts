// A wire to a server that breaks on purpose, before or after a message has arrived: its sender sees only that the connection is
// gone.

import { connect, createServer, type Socket } from "node:net";

/** The fate of a message: it goes through; never arrives; arrives, and its reply does not; goes through late. */
export type WireFault = "none" | "before" | "after" | "late";

export interface BreakingWire {
  readonly port: number;
  /** How often it broke. */
  readonly broken: number;
  close(): Promise<void>;
}

const LATE_MS = 15;
/** A longer message comes in parts: with each part at risk it would never get through. */
const PART_BYTES = 4_096;

/** `fault` is asked for each piece that is sent: its number, over all connections. */
export async function breakingWire(
  to: { readonly port: number; readonly host: string },
  fault: (piece: number) => WireFault,
): Promise<BreakingWire> {
  const sockets = new Set<Socket>();
  let pieces = 0;
  let broken = 0;
  const server = createServer((here) => {
    const there = connect(to);
    let deaf = false;
    let waiting = Promise.resolve();
    const end = () => {
      here.destroy();
      there.destroy();
    };
    for (const socket of [here, there]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    here.on("data", (data) => {
      const what = data.length > PART_BYTES ? "none" : fault(pieces++);
      if (what === "before" || what === "after") broken += 1;
      if (what === "before") return end();
      if (what === "after") deaf = true;
      if (what === "late") waiting = waiting.then(() => new Promise((resolve) => setTimeout(resolve, LATE_MS)));
      void waiting.then(() => there.write(data));
    });
    // It has happened when there is an answer.
    there.on("data", (data) => (deaf ? end() : here.write(data)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    get broken() {
      return broken;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
