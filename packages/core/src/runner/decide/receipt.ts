import type { ActionEvent, Fact } from "../../event.ts";
import type { Taken } from "../../journal/state.ts";
import { messageText } from "../../message.ts";
import type { Receipt } from "./ending.ts";

/** The place on record of a stop; without a run, it met none. */
type Met = Pick<Taken, "seq" | "refused"> & Pick<Receipt, "runId" | "segment">;

/** The receipt of a stop that met nothing in this segment. */
export function nothingStopped(runId: string | undefined, segment: number | undefined): Receipt {
  return { accepted: false, runId, segment, partialText: "", stopped: [], finished: [], notStarted: [], late: [] };
}

/** Returns the receipt of a stop that met work more than once: the last one, unless only an earlier one was accepted. */
export async function bestOf(earlier: readonly Promise<Receipt>[], last: Receipt): Promise<Receipt> {
  if (last.accepted) return last;
  return (await Promise.all(earlier)).find(({ accepted }) => accepted) ?? last;
}

/** Returns the receipt of the stop that was taken there. `facts` are those of its segment at least. */
export function receiptIn({ runId, segment, seq, refused }: Met, facts: readonly Fact[]): Receipt {
  const nothing = nothingStopped(runId, segment);
  if (refused !== undefined) return nothing;
  // A termination that it was merged with has left nothing to stop. The state is the last fact of an append.
  const rests = facts.find((fact) => fact.seq >= seq && fact.type === "state");
  if (rests?.type === "state" && rests.state === "terminated") return nothing;
  const own = facts.filter((fact) => fact.runId === runId && fact.segment === segment && fact.seq <= seq);
  const action = own.findLast((fact, i) => isStop(fact, own.slice(i + 1)));
  if (action?.type !== "action") return nothing;
  const texts = own.flatMap((fact) =>
    fact.type === "message" && isCut(fact.message) ? [messageText(fact.message)] : [],
  );
  return { ...nothing, accepted: true, partialText: texts.join(""), ...action.action.interrupted?.calls };
}

function isCut({ interrupted }: { readonly interrupted?: unknown }): boolean {
  return interrupted !== undefined;
}

/** A stop that kept open requests is recorded as a pause, in the append of its command. */
function isStop(fact: Fact, after: readonly Fact[]): fact is ActionEvent {
  if (fact.type !== "action") return false;
  const kind = fact.action.interrupted?.kind;
  return kind === "user" || (kind === "manual" && after.every(({ type }) => type === "command" || type === "state"));
}
