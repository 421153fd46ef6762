// A function as a node: code of one's own with durable steps, questions and agents inside it, and the state of its graph.

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { belayError, shown } from "../error.ts";
import type { Patch } from "../event.ts";
import type { Frame } from "../frame.ts";
import { fitting, frozen, toJson } from "../json.ts";
import { type AnyAgent, composite } from "../workflow/composite.ts";
import { type AgentContext, LiveAgent } from "../workflow/live-agent.ts";
import type { State } from "./flow.ts";
import { haltOf } from "./halt.ts";
import { Rerun } from "./rerun.ts";

export interface NodeContext<State, Deps = unknown> extends AgentContext<Deps> {
  /** The graph's, as it was when this code began, with what it has changed itself. Whoever writes into it fails. */
  readonly state: Readonly<State>;
  /**
   * Changes the state: what `change` returns, whole or in part, by top-level key. Recorded with what the node gives, and
   * made then of what the state is by then: it is called more than once, and must be pure.
   */
  setState(change: (state: State) => Partial<State>): void;
}

export type NodeCode = (input: never, ctx: never) => unknown;

type Change = (state: never) => object;

const CHANGES = "What setState() changes";

export function functionNode(key: string, code: NodeCode, initial: State): AnyAgent {
  return composite({
    kind: "custom",
    name: key,
    children: [],
    plain: true,
    run: (frame) => runNode(frame, key, code, initial),
  });
}

async function runNode(frame: Frame, key: string, code: NodeCode, initial: State): Promise<Ended> {
  const { runPath } = frame.place;
  const hot = frame.desk.hot.take(runPath);
  const stays = hot instanceof LiveNode && hot.canGoOn(frame);
  if (!stays) hot?.drop();
  const live = stays ? hot : new LiveNode(key, frame);
  const ended = await (stays ? live.adopt(frame) : live.startNode(code, () => stateAround(frame, initial)));
  if (ended.how === "failed" && live.again !== undefined) {
    const { extra } = live.again;
    fitting(extra, "What rerun() was given", frame.desk.maxBytes);
    frame.desk.halt(haltOf(frame, "rerun", runPath.slice(0, runPath.lastIndexOf(":")), [key], extra));
    return { how: "asking", facts: ended.facts, calls: noCalls };
  }
  if (ended.how !== "completed" || live.changes.length === 0) return ended;
  return { ...ended, patch: () => live.patch(stateAround(frame, initial)) };
}

/** The state of the graph around it, as it is on record. */
function stateAround({ desk, place }: Frame, initial: State): State {
  const path = place.runPath.slice(0, place.runPath.lastIndexOf("/"));
  return { ...initial, ...desk.scope(path)?.state };
}

class LiveNode extends LiveAgent {
  readonly changes: Change[] = [];
  again: Rerun | undefined;
  #own: Patch = {};

  startNode(code: NodeCode, begin: () => State): Promise<Ended> {
    let state = structuredClone(begin());
    const setState = (change: Change) => {
      const changed = changedBy(state, change);
      this.#own = this.recordable("setState", { ...this.#own, ...changed }, CHANGES) as Patch;
      this.changes.push(change);
      state = { ...state, ...changed };
    };
    return this.start(async (ctx, input) => {
      // Frozen: what is written there instead of given to setState() would be lost without a word.
      const look = () => frozen(state);
      Object.defineProperties(ctx, { state: { get: look }, setState: { value: setState } });
      try {
        return await code(structuredClone(input) as never, ctx as never);
      } catch (error) {
        if (error instanceof Rerun) this.again = error;
        throw error;
      }
    });
  }

  /**
   * What it changes in the state as others have left it; where that cannot be made any more, what it saw itself. Throws
   * `TOO_LARGE` where it is that only with what they have done: what it saw itself would undo theirs.
   */
  patch(now: State): Patch | undefined {
    let patch: Patch = {};
    try {
      let state = now;
      for (const change of this.changes) {
        const changed = changedBy(state, change);
        state = { ...state, ...changed };
        patch = { ...patch, ...changed };
      }
    } catch {
      // It did not throw when it was given.
      patch = this.#own;
    }
    return Object.keys(patch).length === 0 ? undefined : fitting(patch, CHANGES, this.maxBytes);
  }
}

/** Top-level keys whose value is another one. */
function changedBy(state: State, change: Change): Patch {
  if (typeof change !== "function") {
    const needed = "a function of the state, which gives what it changes";
    throw belayError("OPTION_INVALID", { option: "setState()", value: shown(change), needed });
  }
  const next = toJson(change(structuredClone(state) as never), "The state of a graph");
  if (typeof next !== "object" || next === null || Array.isArray(next)) {
    const needed = "the keys that it changes, with their values; it is not changed in place";
    throw belayError("OPTION_INVALID", { option: "setState()", value: JSON.stringify(next), needed });
  }
  return Object.fromEntries(
    Object.entries(next).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(state[key])),
  );
}
