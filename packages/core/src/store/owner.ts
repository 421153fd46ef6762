// Whether the process that holds a lease still lives. An owner is named host/pid/start/id; on the same host a pid that
// is gone, or that began at another time, is certainly not it.

import { readFileSync } from "node:fs";
import { hostname } from "node:os";

export function isGone(owner: string): boolean {
  const [host, pid, start] = owner.split("/");
  if (host !== hostname() || pid === undefined || start === undefined) return false;
  if (Number(pid) === process.pid) return start !== ownStart();
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return true;
  }
  const now = startOf(Number(pid));
  return now !== "" && start !== "" && now !== start;
}

/** When the process began, in the kernel's ticks; empty where that cannot be known. */
export function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold anything; the 20th field after it is the start time.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

let started: string | undefined;

/** Of this process: read once, for it is asked for with each look at a lease of ours. */
function ownStart(): string {
  started ??= startOf(process.pid);
  return started;
}

export function ownerName(id: string): string {
  return `${hostname()}/${process.pid}/${ownStart()}/${id}`;
}
