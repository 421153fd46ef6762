// The state as facts would leave it, before they are on record. The view of a pause is part of the append that pauses.

import type { Fact } from "../event.ts";
import { reduce } from "./reduce.ts";
import type { Scope, ThreadState } from "./state.ts";

/** Returns a copy of `state` after `facts`; `state` stays as it is. No fact may be a `state`. */
export function sketch(state: ThreadState, facts: readonly Fact[]): ThreadState {
  const touched = new Set(facts.map(({ runPath }) => runPath));
  const copy: ThreadState = {
    ...state,
    run: state.run && { ...state.run },
    scopes: new Map([...state.scopes].map(([path, scope]) => [path, touched.has(path) ? copyOf(scope) : { ...scope }])),
    queued: state.queued && new Set(state.queued),
    taken: state.taken && new Map(state.taken),
    requests: state.requests && new Map([...state.requests].map(([id, request]) => [id, { ...request }])),
    rules: state.rules?.slice(),
    reruns: state.reruns?.slice(),
    breakpoints: state.breakpoints?.slice(),
    callIds: new Set(state.callIds),
  };
  for (const fact of facts) reduce(copy, { ...fact, seq: copy.head + 1 });
  return copy;
}

function copyOf(scope: Scope): Scope {
  return {
    ...scope,
    messages: scope.messages.slice(),
    said: scope.said?.slice(),
    prompt: scope.prompt.slice(),
    calls: scope.calls.map((call) => ({
      ...call,
      ...(call.steps && { steps: call.steps.map((step) => ({ ...step })) }),
    })),
    waiting: scope.waiting.slice(),
    given: scope.given.slice(),
    later: scope.later.slice(),
    again: scope.again && { ...scope.again },
    steps: scope.steps?.map((step) => ({ ...step })),
    goneOn: scope.goneOn?.slice(),
  };
}
