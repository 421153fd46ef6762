// Hooks around a model call. They change this request alone; the answer is kept as it was shown (S3), and no hook changes it.

import type { BelayError } from "../error.ts";
import type { Frame } from "../frame.ts";
import { historyProblems } from "../history-problems.ts";
import { lookOn, runBefore, show } from "../hooks/call-hooks.ts";
import { type Hook, hooksNamed } from "../hooks/hooks.ts";
import type { Message } from "../message.ts";
import type { ModelRequest } from "../model/model.ts";
import { Answer } from "./answer.ts";
import { callModel, type ModelCall, type ModelCallEnd } from "./call-model.ts";
import type { ChatDefinition } from "./definition.ts";

/** `ended` is called once, and must not throw. */
export function callHooked(
  frame: Frame,
  agent: ChatDefinition,
  call: ModelCall,
  turn: number,
  ended: (end: ModelCallEnd) => void,
): void {
  const outer = frame.desk.hooks;
  if (outer === undefined && agent.hooks === undefined) return callModel(frame, call, ended);
  const before = hooksNamed(outer, agent.hooks, "beforeModel");
  const after = hooksNamed(outer, agent.hooks, "afterModel");
  if (before === undefined && after === undefined) callModel(frame, call, ended);
  else void callBetween(frame, call, turn, before, after).then(ended);
}

/** Never rejects. */
async function callBetween(
  frame: Frame,
  call: ModelCall,
  turn: number,
  before: readonly Hook[] | undefined,
  after: readonly Hook[] | undefined,
): Promise<ModelCallEnd> {
  const { signal, desk } = frame;
  const made =
    before === undefined ? { request: call.request } : await signal.orStopped(ask(frame, call, turn, before));
  // Nothing was tried: the next try has the same number.
  const untried = { answer: new Answer(call.model, desk, frame.place.runPath), attempt: call.attempt };
  if (made === undefined || signal.stop !== undefined) return { how: "stopped", ...untried };
  if ("error" in made) return { how: "failed", error: made.error, ...untried };
  // One that came while hooks took their time costs no request, either.
  if (signal.halts("after-tools")) return { how: "stopped", ...untried };
  const asked = { ...call, request: made.request };
  const end = await new Promise<ModelCallEnd>((ended) => callModel(frame, asked, ended));
  if (after === undefined) return end;
  const { answer, how } = end;
  const { usage } = answer;
  const error = how === "failed" ? { error: end.error } : {};
  const parts = answer.parts().slice();
  const info = { turn, reason: reasonFor(call), how, parts, text: answer.text(), ...(usage && { usage }), ...error };
  await lookOn(frame, "afterModel", after, info);
  return end;
}

function ask(
  frame: Frame,
  call: ModelCall,
  turn: number,
  hooks: readonly Hook[],
): Promise<{ readonly request: ModelRequest } | { readonly error: BelayError }> {
  const info = (request: ModelRequest) => ({ turn, reason: reasonFor(call), request });
  return runBefore(frame, "beforeModel", hooks, call.request, info, takeRequest).then(
    (request) => ({ request }),
    (error: BelayError) => ({ error }),
  );
}

function reasonFor({ quiet }: ModelCall): "turn" | "summary" {
  return quiet ? "summary" : "turn";
}

/** It must still be one that every provider takes (H1). */
function takeRequest(request: ModelRequest, given: unknown): ModelRequest {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`it gave ${show(given)}, not what to change in the request`);
  }
  const made: ModelRequest = { ...request, ...given };
  if (!Array.isArray(made.tools)) throw new TypeError(`its tools are ${show(made.tools)}`);
  if (made.messages === request.messages) return made;
  if (!Array.isArray(made.messages) || made.messages.length === 0) throw new TypeError("it left no messages");
  const wrong = (made.messages as readonly Partial<Message>[]).findIndex((each) => !Array.isArray(each?.parts));
  if (wrong >= 0) throw new TypeError(`message ${wrong} is ${show(made.messages[wrong])}, which has no parts`);
  const problems = historyProblems(made.messages);
  if (problems.length > 0) throw new TypeError(`no provider takes its messages: ${problems.join("; ")}`);
  return made;
}
