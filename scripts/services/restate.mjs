// A Restate for tests and examples: the binary of the npm package @restatedev/restate-server, with its data in a temporary folder.
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { freePort, keep, serverFolder } from "./keep.mjs";

/** One that nothing else uses: `halt` and `again` restart it, and `wipe` deletes its data in between. */
export async function ownRestate() {
  const command = program();
  const folder = serverFolder("restate");
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const config = join(folder, "restate.toml");
  writeFileSync(config, settings(folder, { node, ingress, admin }));
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  const answers = async () => {
    for (const url of [`${urls.ingress}/restate/health`, `${urls.admin}/health`]) {
      const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(1_000) });
      if (!ok) throw new Error(`${url}: ${status}`);
    }
  };
  const args = ["--no-logo", "--config-file", config];
  const kept = await keep({ command, args, folder, signal: "SIGTERM" }, answers);
  const wipe = async () => {
    await kept.halt("SIGKILL");
    rmSync(join(folder, "data"), { recursive: true, force: true });
    await kept.again();
  };
  return { ...urls, ...kept, wipe };
}

/** Small, for one machine: it listens on loopback only and sends nothing home. */
function settings(
  /** @type {string} */ folder,
  /** @type {{ node: number, ingress: number, admin: number }} */ { node, ingress, admin },
) {
  return `base-dir = "${join(folder, "data")}"
disable-telemetry = true
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-port = ${node}
default-num-partitions = 4
log-filter = "error"
log-disable-ansi-codes = true
rocksdb-total-memory-size = "256 MiB"
shutdown-timeout = "5s"
[ingress]
bind-port = ${ingress}
[admin]
bind-port = ${admin}
disable-web-ui = true
[worker.invoker]
concurrent-invocations-limit = 64
`;
}

function program() {
  const name = `@restatedev/restate-server-${platform()}-${arch()}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("@restatedev/restate-server/package.json"));
    return require.resolve(`${name}/bin/restate-server`);
  } catch (error) {
    throw new Error(`There is no Restate for this machine: npm has no ${name} here. ${error}`);
  }
}
