import type { MetCall } from "../../agent.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";

/**
 * Lists the calls that a stop met, by its effect on them, each list in the order in which models asked for them: by address. The
 * calls of an agent inside a call follow that call. Calls that were left behind in other segments come first in `late`.
 */
export function metCalls(calls: readonly MetCall[], late: readonly string[]): NonNullable<Interrupt["calls"]> {
  const inOrder = calls.toSorted((a, b) => a.address.localeCompare(b.address, "en", { numeric: true }));
  const those = (how: MetCall["how"]) => inOrder.filter((call) => call.how === how).map(({ id }) => id);
  const rank = new Map(inOrder.map(({ id }, i) => [id, i]));
  return {
    stopped: those("stopped"),
    finished: those("finished"),
    notStarted: those("notStarted"),
    late: late.toSorted((a, b) => (rank.get(a) ?? -1) - (rank.get(b) ?? -1)),
  };
}
