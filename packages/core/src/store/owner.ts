// Whether the process that holds a lease still lives. An owner is named place/pid/start/id: a process with that pid in the same
// place that is gone, or that began at another time, is certainly dead. A place is a host and, if the system has them, the boot
// and the pid namespace: containers may share a host's name and a file, and do not see each other's processes. Owners in
// other places are not judged: their lease ends with its time.

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Returns whether the process that a lease names as its owner has certainly ended. False if it cannot be seen from here. */
export function isGone(owner: string): boolean {
  const [place, pid, start] = owner.split("/");
  if (pid === undefined || start === undefined || !isHere(place!)) return false;
  if (Number(pid) === process.pid) return start !== ownStart();
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return true;
  }
  const now = startOf(Number(pid));
  return now !== "" && start !== "" && now !== start;
}

/** Names that only say their host are those of earlier versions, and of systems without namespaces. */
function isHere(place: string): boolean {
  return place === ownPlace() || place === hostname();
}

/** When the process began, in the kernel's ticks; empty if the system does not report it. */
export function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold anything; the 20th field after it is the start time.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

// The values of this process. They are read once, because each look at a lease of ours needs them.
let started: string | undefined;
let placed: string | undefined;

function ownStart(): string {
  started ??= startOf(process.pid);
  return started;
}

function ownPlace(): string {
  placed ??= placeOf(hostname(), readLink("/proc/self/ns/pid"), readText("/proc/sys/kernel/random/boot_id"));
  return placed;
}

/** The namespaces of two machines may have the same number; a few digits of the boot tell them apart. */
export function placeOf(host: string, namespace: string, boot: string): string {
  const number = /\d+/.exec(namespace)?.[0];
  // Earlier versions take it for another host, and so judge no owner that they may not see.
  return number === undefined ? host : `${host}@${boot.slice(0, 8)}.${number}`;
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

export function ownerName(id: string): string {
  return `${ownPlace()}/${process.pid}/${ownStart()}/${id}`;
}
