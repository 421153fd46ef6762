import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const program = fileURLToPath(new URL("services.mjs", import.meta.url));
let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belay-services-"));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
});
afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** The ports of servers that a program of its own keeps, in temporary folders below `folder`. */
async function started(): Promise<number[]> {
  child = spawn(process.execPath, [program, "--own"], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ports: number[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    ports.push(Number(/:(\d+)(?:\/postgres)?$/.exec(line)?.[1]));
    if (ports.length === 2) break;
  }
  return ports;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" });
  const [name] = await Promise.race([
    once(socket, "connect").then(() => ["connect"]),
    once(socket, "error").then(() => ["error"]),
  ]).catch(() => ["error"]);
  socket.destroy();
  return name === "connect";
}

async function allGone(ports: readonly number[]): Promise<void> {
  for (const port of ports) while (await listens(port)) await new Promise((resolve) => setTimeout(resolve, 20));
  while (readdirSync(folder).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("the servers of tests", () => {
  test.each(["SIGINT", "SIGKILL"] as const)("end, with their files, when their keeper gets %s", async (signal) => {
    const ports = await started();
    expect(await Promise.all(ports.map(listens))).toEqual([true, true]);
    const exited = once(child!, "exit");
    child!.kill(signal);
    await exited;
    await allGone(ports);
    expect(await Promise.all(ports.map(listens))).toEqual([false, false]);
  });
});
