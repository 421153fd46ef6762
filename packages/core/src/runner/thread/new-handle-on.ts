import { type BelayError, belayError } from "../../error.ts";
import type { Handle } from "../../interrupt/interrupt.ts";
import { plainCommand } from "../decide/command.ts";
import { handleOf, newToken } from "../decide/ending.ts";
import { loadThread } from "../read/read-facts.ts";
import type { Door } from "./door.ts";
import { submit } from "./submit.ts";

/** Returns a new handle on the present pause of a thread. The one before it is void. */
export async function newHandleOn(door: Door): Promise<Handle> {
  const { clock, tokenTtlMs } = door.setup;
  const { threadId } = door.key;
  const { token, ...hashed } = newToken(clock.now(), tokenTtlMs);
  const command = plainCommand({ do: "handle", ...hashed }, {}, clock.id());
  try {
    const { runId, segment, pauseType = "manual" } = await submit(door, command);
    return handleOf({ threadId, runId, segment }, pauseType, token);
  } catch (error) {
    const isRunning = (error as Partial<BelayError>).code === "ALREADY_RUNNING";
    if (!isRunning || !(await isCrashed(door))) throw error;
    // A crash leaves no pause on record that a token could be for.
    throw belayError("INVALID_PAUSE_TYPE", { threadId, pauseType: "crash", needed: "a pause that is on record" });
  }
}

async function isCrashed({ setup, key }: Door): Promise<boolean> {
  const row = (await loadThread(setup.store, key, Number.MAX_SAFE_INTEGER))?.row;
  return row?.state === "running" && row.lease === undefined;
}
