// All at once, each with the same input; the output is the list of their outputs, in their order (W1). Agents that wait for
// people continue as soon as they can, in any state of the others.

import { type Agent, type Ended, published } from "../agent.ts";
import type { Frame } from "../frame.ts";
import type { HooksGiven } from "../hooks/hooks.ts";
import type { Json } from "../json.ts";
import type { KnownOptions } from "../refuse-unknown.ts";
import { type ChildEnd, type ChildInput, type ChildPlace, runChild } from "./child.ts";
import { type AnyAgent, agentsOf, completed, composite, inputOf, together } from "./composite.ts";

/** The options of `parallel()`. */
export interface ParallelOptions<Deps> {
  readonly name: string;
  readonly agents: readonly Agent<unknown, Deps>[];
  readonly hooks?: HooksGiven<Deps> | undefined;
}

const OPTIONS: KnownOptions<ParallelOptions<never>> = { name: true, agents: true, hooks: true };

/** Defines an agent that runs others at once with the same input; its output is the list of theirs. */
export function parallel<Deps = unknown>(options: ParallelOptions<Deps>): Agent<unknown[], Deps> {
  const children = agentsOf("parallel()", options, OPTIONS, "at once");
  const { name, hooks } = options;
  return published(
    composite({ kind: "parallel", name, children, hooks, run: (frame) => runAll(frame, children) }),
  ) as Agent<unknown[], Deps>;
}

async function runAll(frame: Frame, agents: readonly AnyAgent[]): Promise<Ended> {
  const input = inputOf(frame);
  const { runPath } = frame.place;
  const places = agents.map(
    (agent, i): ChildPlace => ({
      agent,
      path: `${runPath}/${i}:${agent.name}`,
      beside: true,
    }),
  );
  const ends = await allOf(frame, places, () => input);
  const cut = together(ends);
  if (cut !== undefined) return cut;
  const done = ends.filter((end) => end.how === "completed");
  const acted = done.find(({ action }) => action !== undefined);
  if (acted !== undefined) return completed(frame, acted.output, acted.action);
  return completed(
    frame,
    done.map(({ output }): Json => output),
  );
}

/**
 * Runs them all until each has ended or waits for people while nothing moves; an agent whose request is answered in the
 * meantime continues.
 */
export function allOf(
  frame: Frame,
  places: readonly ChildPlace[],
  inputFor: (index: number) => ChildInput,
): Promise<ChildEnd[]> {
  return new Promise((resolve, reject) => {
    const ends = new Array<ChildEnd | undefined>(places.length);
    let running = 0;
    let over = false;
    const settle = () => {
      if (running > 0 || over) return;
      // Judged a macrotask later: an answer may be on its way.
      const quiet = () => {
        if (running > 0 || over) return;
        over = true;
        resolve(ends as ChildEnd[]);
      };
      if (ends.some((end) => end?.how === "asking")) setImmediate(quiet);
      else quiet();
    };
    const begin = (index: number) => {
      running += 1;
      const place = places[index]!;
      runChild(frame, place, inputFor(index)).then((end) => {
        ends[index] = end;
        running -= 1;
        if (end.how === "asking") {
          // Raise its requests now: the others may take long.
          if (end.facts.length > 0 && !over) {
            running += 1;
            void frame
              .record(() => end.facts)
              .then(() => {
                running -= 1;
                listen(index, place.path);
                settle();
              });
            ends[index] = { ...end, facts: [] };
            return;
          }
          listen(index, place.path);
        }
        settle();
      }, reject);
    };
    const listen = (index: number, path: string) => {
      for (const id of frame.desk.openBelow(path)) {
        frame.desk.await(id, {
          decided: () => {
            // One that runs may have read its record before this was on it.
            if (over || ends[index]?.how !== "asking") return false;
            ends[index] = undefined;
            begin(index);
            return true;
          },
        });
      }
    };
    for (let i = 0; i < places.length; i++) begin(i);
  });
}
