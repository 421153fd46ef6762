// An interrupt as the root sees it: each level of agents says where in it something waits, down to the interrupt itself.

import type { Json } from "../json.ts";
import type { Interrupt } from "./interrupt.ts";

/** At the bottom it is the interrupt as it was raised. Above, it names the first one below and the agent around it. */
export type InterruptView = Interrupt & { readonly data: InterruptData };

/** What a level of the nested view knows about the interrupts inside it. */
export type InterruptData =
  | {
      readonly type: "workflow";
      /** The input of the agent. */
      readonly origInput: Json;
      /** Of a sequence or a loop: the agent that it has come to, from 0. */
      readonly sequentialIndex?: number;
      /** How many rounds it has finished. */
      readonly loopIterations: number;
      /** By the position of the agent among those that run at once: all and only those that are interrupted. */
      readonly parallel: { readonly [index: number]: InterruptView };
      /** Of the one agent that was running; undefined if the stop came between two of them. */
      readonly interrupt?: InterruptView;
    }
  /** In calls of its turn, or in code of its own. */
  | ({ readonly type: "tools"; readonly interrupts: readonly InterruptView[] } & Partial<RerunData>)
  | ({ readonly type: "graph"; readonly interrupts: readonly InterruptView[] } & GraphInterrupt)
  | { readonly type: "none" };

/** The calls of a turn in which some ask to be run again, by their ids. */
export interface RerunData {
  /** The results of the calls that have ended: they are kept. */
  readonly executedTools: { readonly [callId: string]: Json };
  /** The calls that resume() runs again. */
  readonly rerunTools: readonly string[];
  /** What those gave to rerun(). */
  readonly extra: { readonly [callId: string]: Json };
}

/** Where the run of a graph stands. */
export interface GraphInterrupt {
  readonly state: { readonly [key: string]: Json };
  /** Nodes that wait for resume(), before they run and after. */
  readonly beforeNodes: readonly string[];
  readonly afterNodes: readonly string[];
  /** Nodes that asked to be run again. */
  readonly rerunNodes: readonly { readonly node: string; readonly input: Json; readonly extra: Json }[];
  readonly subGraphs: { readonly [node: string]: GraphInterrupt };
}

/** What an agent knows of itself when it is asked for the view from outside. */
export interface Inside {
  readonly input: Json;
  /** The agents inside it that have begun, by the last part of their path; with a view if they are interrupted. */
  readonly children: readonly {
    readonly segment: string;
    readonly ended: boolean;
    readonly view: InterruptView | undefined;
  }[];
  /** Interrupts of its own. */
  readonly own: readonly InterruptView[];
  /** Of a graph: where its run stands. */
  readonly graph?: GraphInterrupt | undefined;
}

/** Returns an interrupt as it was raised. */
export function leaf(interrupt: Interrupt): InterruptView {
  return { data: { type: "none" }, ...interrupt };
}

/** True for the view of a whole pause, which stands in the `action` of the root; false for an interrupt as it was raised. */
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
      // A stop between two nodes has no leaf in it.
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
      // Nor has one between two agents.
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
