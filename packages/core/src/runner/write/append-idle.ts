import { belayError } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import { samePause } from "../decide/facts.ts";
import type { IdleFacts } from "../decide/idle.ts";
import { placeIn } from "../decide/place-in.ts";
import type { Recall } from "../read/recall.ts";
import { busy } from "../read/store-error.ts";
import { Writer, type WriterHost } from "./writer.ts";

/**
 * Writes one append to a thread at rest: it takes the lease and returns it. `row` is the command that it consumes. A pause is
 * written once more, because the last line of a thread holds its state.
 */
export async function appendIdle(
  host: WriterHost,
  place: FramePlace,
  recall: Recall,
  make: IdleFacts,
  row?: string,
): Promise<void> {
  const { threadId } = host.key;
  const state = await recall.readAll();
  // The segment in the store, because the session may have read an older one.
  const at = placeIn(state, place);
  const made = make(at, state);
  if (made.length === 0) return;
  const isMoved = state.state !== "paused" || made.some(({ type }) => type === "state");
  const facts = isMoved ? made : [...made, samePause(at, state)];
  const rows = row === undefined ? undefined : [row];
  const writer = new Writer(host, state, { agent: place.agentName, failed: () => {}, rows });
  const refusal = await writer.open(facts, () => recall.settleOn(state), true);
  if (refusal?.why === "busy") throw busy(threadId, refusal.owner, refusal.until);
  if (refusal?.why === "gone") throw belayError("INPUT_WITHDRAWN", { threadId, ids: refusal.keys.join(", ") });
  if (refusal?.why === "conflict") {
    if (refusal.head < state.head) throw recall.gone();
    throw belayError("STORE_CONFLICT", { threadId, expected: state.head, found: refusal.head });
  }
}
