import type { Handle } from "../../interrupt/interrupt.ts";
import { handleOf, newToken } from "../decide/ending.ts";
import type { Door } from "./door.ts";
import { submit } from "./submit.ts";

/** Returns a new handle on the present pause of a thread. The one before it is void. */
export async function newHandleOn(door: Door): Promise<Handle> {
  const { clock, tokenTtlMs } = door.setup;
  const { token, ...hashed } = newToken(clock.now(), tokenTtlMs);
  const command = { do: "handle", key: `handle:${clock.id()}`, by: "user", ...hashed } as const;
  const { runId, segment, pauseType = "manual" } = await submit(door, command);
  return handleOf({ threadId: door.key.threadId, runId, segment }, pauseType, token);
}
