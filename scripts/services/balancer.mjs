// A balancer for one machine: takes connections on one port and hands each to the next worker that accepts it. Restate calls
// one address, however many workers there are; elsewhere a Service of Kubernetes or any TCP balancer does this.
import { connect, createServer } from "node:net";

/**
 * @param {readonly number[]} ports of the workers on this machine, whether they run already or not
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function balancer(ports) {
  let turn = 0;
  /** @type {Set<import("node:net").Socket>} */
  const open = new Set();
  const server = createServer({ allowHalfOpen: true }, (from) => {
    open.add(from);
    from.on("close", () => open.delete(from));
    from.on("error", () => from.destroy());
    reach(from, turn++, ports.length);
  });
  /** Connects to the next worker in turn that answers. */
  function reach(/** @type {import("node:net").Socket} */ from, /** @type {number} */ at, /** @type {number} */ left) {
    if (left === 0) return void from.destroy();
    const to = connect({ port: ports[at % ports.length] ?? 0, host: "127.0.0.1", allowHalfOpen: true });
    const refused = () => reach(from, at + 1, left - 1);
    to.once("error", refused);
    to.once("connect", () => {
      to.off("error", refused);
      to.on("error", () => from.destroy());
      to.on("close", () => from.destroy());
      from.on("close", () => to.destroy());
      from.pipe(to).pipe(from);
    });
  }
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
