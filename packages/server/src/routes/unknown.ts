import { BelayError } from "@belay/core";

/** The same refusal for a thread that does not exist and for one of another tenant. */
export function unknownThread(threadId: string): BelayError {
  return new BelayError("THREAD_UNKNOWN", `There is no thread ${threadId}.`, "List the threads with GET /v1/threads.", {
    threadId,
  });
}

export function unknownRequest(id: string): BelayError {
  return new BelayError("ANSWER_UNKNOWN", `There is no request ${id}.`, "List the open ones with GET /v1/inbox.", {
    id,
  });
}
