// The value of `ctx.ask` for a decision.

import { belayError } from "../error.ts";
import { approvalOf, type Decision } from "../interrupt/decision.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Request } from "../interrupt/request.ts";
import type { Json } from "../json.ts";
import { type StandardSchema, validate } from "../schema/schema.ts";

/** Returns the answer. Throws if it was rejected or expired. */
export async function answerOf(request: Request, interrupt: Interrupt, decision: Decision): Promise<unknown> {
  const { id } = interrupt;
  const { by } = decision;
  switch (decision.how) {
    case "approved":
      return approvalOf(decision);
    case "rejected":
      if (request.kind === "approval") return approvalOf(decision);
      throw belayError("REQUEST_REJECTED", { id, by, reason: decision.reason });
    case "responded":
      return request.schema === undefined ? decision.value : checked(id, request.schema, decision.value);
    case "expired":
      return expired(request, interrupt, decision);
    case "withdrawn":
      return new Promise(() => {});
    default:
      return decision satisfies never;
  }
}

function expired(
  request: Request,
  { id, expiresAt = 0 }: Interrupt,
  { counts, at }: Extract<Decision, { how: "expired" }>,
): unknown {
  const expiredAt = new Date(expiresAt).toISOString();
  const reason = `nobody answered before ${expiredAt}`;
  if (counts === "fail") throw belayError("ANSWER_EXPIRED", { id, expiredAt });
  if (request.kind === "approval") return { approved: counts === "approve", by: "runtime", at, note: reason };
  throw belayError("REQUEST_REJECTED", { id, by: "runtime", reason });
}

/** As the code's own schema sees it: it may ask for more than JSON Schema can say, or make something of it. */
async function checked(id: string, schema: StandardSchema, value: Json): Promise<unknown> {
  const result = await validate(schema, value);
  if (!result.ok) throw belayError("ANSWER_INVALID", { id, problem: result.problem });
  return result.value;
}
