import { belayError } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import type { IdleFacts } from "../decide/idle.ts";
import type { Recall } from "../read/recall.ts";
import { busy } from "../read/store-error.ts";
import { Drive, type DriveHost } from "./drive.ts";

/** Writes one append to a thread at rest: it takes the lease and returns it. */
export async function appendIdle(host: DriveHost, place: FramePlace, recall: Recall, make: IdleFacts): Promise<void> {
  const { threadId } = host.key;
  const state = await recall.readAll();
  const { run } = state;
  // The stretch that it rests after, as the store has it: what a session knew may be old.
  const at = run === undefined ? place : { ...place, runId: run.id, segment: run.segment };
  const drive = new Drive(host, place.agentName, state, () => {});
  const refusal = await drive.open(make(at, state), () => recall.settleOn(state), true);
  if (refusal?.why === "busy") throw busy(threadId, refusal.owner, refusal.until);
  if (refusal?.why === "conflict") {
    if (refusal.head < state.head) throw recall.gone();
    throw belayError("STORE_CONFLICT", { threadId, expected: state.head, found: refusal.head });
  }
}
