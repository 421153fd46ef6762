// A process and all it started, as one thing that can be ended. Invariants:
// 1. A group is signalled only while it is known to exist: once it is seen to be empty its number is never used again,
//    because the system may have given it to another process.
// 2. A group that still exists when this process exits is killed with it, and so are its strays. (A process killed by a
//    signal it does not handle gets no `exit` event: programs handle SIGINT, SIGTERM and SIGHUP themselves and then exit.)

import type { Strays } from "./strays.ts";

const CHECK_EVERY_MS = 250;

export interface ProcessGroup {
  /** Signals all of its processes; false when none is left. */
  signal(signal: NodeJS.Signals): boolean;
  /** Looks whether any is left. */
  isEmpty(): boolean;
  /** To be called when the process that leads the group has ended: others of the group may be left. */
  leaderEnded(): void;
}

const alive = new Map<ProcessGroup, Strays>();
let listening = false;

/** `pid` is the leader's, which is also the number of the group. `onGone` is called once, when it is empty. */
export function processGroup(pid: number, strays: Strays, onGone: () => void): ProcessGroup {
  // Windows has no process groups: there only the leader is signalled.
  const number = process.platform === "win32" ? pid : -pid;
  let timer: NodeJS.Timeout | undefined;
  const gone = () => {
    if (!alive.delete(group)) return;
    clearInterval(timer);
    onGone();
  };
  const send = (signal: NodeJS.Signals | 0): boolean => {
    if (!alive.has(group)) return false;
    let sent = true;
    try {
      process.kill(number, signal);
    } catch {
      sent = false;
    }
    // Nothing survives SIGKILL; a process that stays listed is dead and not yet collected by its parent.
    if (!sent || signal === "SIGKILL") gone();
    return sent;
  };
  const group: ProcessGroup = {
    signal: send,
    isEmpty: () => !send(0),
    leaderEnded() {
      if (!send(0)) return;
      timer = setInterval(send, CHECK_EVERY_MS, 0);
      timer.unref();
    },
  };
  alive.set(group, strays);
  killAllAtExit();
  return group;
}

function killAllAtExit(): void {
  if (listening) return;
  listening = true;
  process.on("exit", () => {
    for (const [group, strays] of [...alive]) {
      strays.look();
      strays.signal("SIGKILL");
      group.signal("SIGKILL");
    }
  });
}
