// An interrupt as the root sees it: each level of agents gives the position in it, down to the interrupt itself.

import type { Json } from "../json.ts";
import type { Interrupt } from "./interrupt.ts";

/**
 * An interrupt with its level. At the bottom it is the interrupt as it was raised. Above, it names the first one below
 * and the agent around it.
 */
export type InterruptView = Interrupt & { readonly data: InterruptData };

/** The data of one level of the nested view. */
export type InterruptData =
  | {
      readonly type: "workflow";
      /** The input of the agent. */
      readonly origInput: Json;
      /** The index of the current agent. Sequences and loops only. */
      readonly sequentialIndex?: number;
      /** The number of finished rounds. */
      readonly loopIterations: number;
      /** The interrupted agents, by their position among those that run at once. */
      readonly parallel: { readonly [index: number]: InterruptView };
      /** The interrupt of the one running agent; undefined if the stop came between two of them. */
      readonly interrupt?: InterruptView;
    }
  /** Interrupts in calls of its turn, or in code of its own. */
  | ({ readonly type: "tools"; readonly interrupts: readonly InterruptView[] } & Partial<RerunData>)
  | ({ readonly type: "graph"; readonly interrupts: readonly InterruptView[] } & GraphInterrupt)
  | { readonly type: "none" };

/** The calls of a turn in which some ask to run again, by id. */
export interface RerunData {
  /** The results of the calls that have ended. They are kept. */
  readonly executedTools: { readonly [callId: string]: Json };
  /** The calls that resume() runs again. */
  readonly rerunTools: readonly string[];
  /** The data that those calls passed to rerun(). */
  readonly extra: { readonly [callId: string]: Json };
}

/** The position of the run of a graph. */
export interface GraphInterrupt {
  readonly state: { readonly [key: string]: Json };
  /** Nodes that wait for resume(), before they run and after. */
  readonly beforeNodes: readonly string[];
  readonly afterNodes: readonly string[];
  /** Nodes that asked to run again. */
  readonly rerunNodes: readonly { readonly node: string; readonly input: Json; readonly extra: Json }[];
  readonly subGraphs: { readonly [node: string]: GraphInterrupt };
}

/** The data from which an agent builds its view. */
export interface Inside {
  readonly input: Json;
  /** The children that have begun, by the last part of their path; with a view if they are interrupted. */
  readonly children: readonly {
    readonly segment: string;
    readonly ended: boolean;
    readonly view: InterruptView | undefined;
  }[];
  /** Its own interrupts. */
  readonly own: readonly InterruptView[];
  /** The position of its run. Graphs only. */
  readonly graph?: GraphInterrupt | undefined;
}

/** Returns an interrupt as it was raised. */
export function leaf(interrupt: Interrupt): InterruptView {
  return { data: { type: "none" }, ...interrupt };
}

/**
 * Returns whether this is the view of a whole pause, as in the `action` of the root, and not an interrupt as it was
 * raised.
 */
export function isView(interrupt: Interrupt | undefined): interrupt is InterruptView {
  return interrupt !== undefined && "data" in interrupt;
}

/** Returns the view with each leaf replaced. A leaf without a replacement is left out, and so are levels without leaves. */
export function mapLeaves(
  view: InterruptView,
  replace: (leaf: InterruptView) => InterruptView | undefined,
): InterruptView | undefined {
  const { data } = view;
  switch (data.type) {
    case "none":
      return replace(view);
    case "tools":
    case "graph": {
      const interrupts = data.interrupts.flatMap((each) => mapLeaves(each, replace) ?? []);
      // A stop between two nodes has no leaf.
      if (interrupts.length === 0 && data.interrupts.length > 0) return undefined;
      return headed(view, data.interrupts[0], interrupts[0], { ...data, interrupts });
    }
    case "workflow": {
      const { parallel: all, interrupt: only, ...where } = data;
      const parallel: { [index: number]: InterruptView } = {};
      for (const [index, each] of Object.entries(all)) {
        const left = mapLeaves(each, replace);
        if (left !== undefined) parallel[Number(index)] = left;
      }
      const interrupt = only && mapLeaves(only, replace);
      const had = only !== undefined || Object.keys(all).length > 0;
      const has = interrupt !== undefined || Object.keys(parallel).length > 0;
      // Neither has a stop between two agents.
      if (had && !has) return undefined;
      const [was] = [only, ...Object.values(all)].filter((each) => each !== undefined);
      const [is] = [interrupt, ...Object.values(parallel)].filter((each) => each !== undefined);
      return headed(view, was, is, { ...where, parallel, ...(interrupt && { interrupt }) });
    }
    default:
      return data satisfies never;
  }
}

/** A level names the first interrupt below it, if that was not a stop of its own. */
function headed(
  view: InterruptView,
  was: InterruptView | undefined,
  is: InterruptView | undefined,
  data: InterruptData,
): InterruptView {
  if (was === undefined || is === undefined || was.id !== view.id || is.id === was.id) return { ...view, data };
  return above(view.address, is, data, view.callId);
}

/** Returns a level: it names the first interrupt below it, and the agent around that. */
export function above(address: string, first: Interrupt, data: InterruptData, callId?: string): InterruptView {
  const { id, kind, raisedAt, by, reason, message } = first;
  const words = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
  return { id, kind, address, raisedAt, by, data, ...words, ...(callId !== undefined && { callId }) };
}
