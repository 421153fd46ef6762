// Makes a fresh clone ready: installs when node_modules is missing or older than the lock file, and builds when dist is
// missing or older than the sources. Each command of the repository calls it first, so each works alone.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name) => join(root, "node_modules/.bin", name);

const modifiedAt = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** The newest change below a folder. Folders count too: their time moves when a file is deleted. */
export function newest(path) {
  if (!existsSync(path)) return 0;
  if (!statSync(path).isDirectory()) return /\.test\.tsx?$/.test(path) ? 0 : modifiedAt(path);
  return Math.max(modifiedAt(path), ...readdirSync(path).map((name) => newest(join(path, name))));
}

/** Runs a program and resolves to its exit code (128 + n when a signal ended it). With `quiet`, output shows on failure only. */
export function run(command, args, { cwd = root, quiet = false, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: quiet ? ["ignore", "pipe", "pipe"] : "inherit" });
    const output = [];
    child.stdout?.on("data", (chunk) => output.push(chunk));
    child.stderr?.on("data", (chunk) => output.push(chunk));
    // A terminal sends Ctrl-C to the whole process group: passing it on as well would press it twice.
    const forward = (signal) => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, forward);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      for (const each of signals) process.off(each, forward);
      const exit = code ?? 128 + constants.signals[signal];
      if (quiet && exit !== 0) process.stderr.write(Buffer.concat(output));
      resolve(exit);
    });
  });
}

export const runBin = (name, args, options) => run(bin(name), args, options);

async function step(name, work) {
  const started = Date.now();
  process.stdout.write(`${name} … `);
  const code = await work();
  console.log(code === 0 ? `${((Date.now() - started) / 1000).toFixed(1)} s` : "failed");
  if (code !== 0) process.exit(code);
}

/** npm writes node_modules/.package-lock.json last, so its time says when a whole install ended. */
export async function ensureInstalled(dir = root) {
  const lock = join(dir, "package-lock.json");
  if (modifiedAt(join(dir, "node_modules/.package-lock.json")) >= modifiedAt(lock)) return;
  await step("installing", () => run("npm", ["ci", "--include=dev"], { cwd: dir, quiet: true }));
}

/** Builds beside dist and swaps, so that no process reads half a build; dist then carries the time the build began. */
async function buildPackage(dir, bundleTo) {
  const started = new Date();
  const fresh = join(dir, `dist.${process.pid}`);
  try {
    const code = await runBin("tsc", ["-p", join(dir, "tsconfig.build.json"), "--outDir", fresh], { quiet: true });
    if (code !== 0) return code;
    await bundleTo(fresh);
    rmSync(join(dir, "dist"), { recursive: true, force: true });
    renameSync(fresh, join(dir, "dist"));
    utimesSync(join(dir, "dist"), started, started);
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** The packages that are built, in the order in which each needs the ones before it. */
const parts = [
  // Not before the install: the bundler comes with it.
  { name: "core", bundleTo: async (dir, fresh) => (await import("./bundle.mjs")).bundle(dir, fresh) },
  { name: "bullmq", bundleTo: async (dir, fresh) => (await import("./bundle.mjs")).bundle(dir, fresh) },
  { name: "dbos", bundleTo: async (dir, fresh) => (await import("./bundle.mjs")).bundle(dir, fresh) },
  { name: "restate", bundleTo: async (dir, fresh) => (await import("./bundle.mjs")).bundle(dir, fresh) },
  { name: "client", bundleTo: async (dir, fresh) => (await import("./bundle.mjs")).bundle(dir, fresh, "neutral") },
  {
    name: "server",
    // It carries the pages of the console.
    needs: ["packages/console/src", "packages/console/index.html", "packages/console/vite.config.ts"],
    before: async () => (await import("./build-console.mjs")).ensureConsole(),
    bundleTo: async (dir, fresh) => (await import("./bundle.mjs")).bundle(dir, fresh, "neutral"),
  },
  { name: "cli", bundleTo: async (dir, fresh) => (await import("./bundle-cli.mjs")).bundleCli(dir, fresh) },
];

const dirOf = ({ name }) => join(root, "packages", name);

async function buildParts(chosen) {
  for (const part of chosen) {
    const dir = dirOf(part);
    await part.before?.();
    const code = await buildPackage(dir, (fresh) => part.bundleTo(dir, fresh));
    if (code !== 0) return code;
  }
  return 0;
}

export async function build() {
  await step("building", () => buildParts(parts));
}

/** Builds all packages from the first stale one on: later packages are made of earlier ones. */
export async function ensureBuilt() {
  const shared = ["tsconfig.base.json", "scripts/bundle.mjs", "scripts/bundle-cli.mjs"].map((path) => join(root, path));
  const isStale = (part) => {
    const own = ["src", "package.json", "tsconfig.build.json"].map((path) => join(dirOf(part), path));
    const needs = (part.needs ?? []).map((path) => join(root, path));
    return modifiedAt(join(dirOf(part), "dist")) < Math.max(...[...own, ...needs, ...shared].map(newest));
  };
  const first = parts.findIndex(isStale);
  if (first !== -1) await step("building", () => buildParts(parts.slice(first)));
}
