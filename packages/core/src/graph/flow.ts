// The next nodes of a graph, as a function of the recorded outputs of its nodes, in their order. It runs
// nothing and keeps nothing: a resume builds it again from the journal, and gets the same nodes with the same
// inputs.

import { belayError, errorText, shown } from "../error.ts";
import type { Json } from "../json.ts";
import { END, leadsTo, reach, type Shape, START } from "./shape.ts";

export type State = Readonly<Record<string, Json>>;

/** One run of a node: its visits are numbered from 0. */
export interface Visit {
  readonly key: string;
  readonly visit: number;
  /** `key#visit` */
  readonly id: string;
  readonly input: Json;
  /** It gets the input of the graph, unchanged. */
  readonly first: boolean;
}

/** When a node with several predecessors runs: for each input that arrives, or once for all. */
export type Trigger = "any" | "all";

/** Returns the value of a function of the graph; if it throws, the error names the function. */
export function saidBy<T>(graph: string, what: string, say: () => T): T {
  try {
    return say();
  } catch (error) {
    throw belayError("AGENT_FAILED", { agent: graph, reason: `${what} threw: ${errorText(error)}` }, error);
  }
}

export class Flow {
  readonly #shape: Shape;
  readonly #trigger: Trigger | undefined;
  readonly #maxSteps: number;
  readonly #visits = new Map<string, number>();
  /** Values at nodes that wait for more, by their source. */
  readonly #waiting = new Map<string, Map<string, Json>>();
  readonly #arrived = new Map<string, Json>();
  /** Visits that have begun, or may begin, and have not handed on their output. */
  readonly #open = new Map<string, Visit>();
  /** The place of each node among those that the graph names; made when something joins. */
  #ranks: ReadonlyMap<string, number> | undefined;
  #steps = 0;
  state: State;

  constructor(shape: Shape, trigger: Trigger | undefined, maxSteps: number, state: State) {
    this.#shape = shape;
    this.#trigger = trigger;
    this.#maxSteps = maxSteps;
    this.state = state;
  }

  get open(): readonly Visit[] {
    return [...this.#open.values()];
  }

  /** Values that wait at joins, by node. */
  get waiting(): Readonly<Record<string, Readonly<Record<string, Json>>>> {
    return Object.fromEntries([...this.#waiting].map(([key, from]) => [key, Object.fromEntries(from)]));
  }

  /** The output of the graph, once no node is open: the values at END, by their node if several led there. */
  get output(): Json {
    return this.#inputOf(this.#arrived, false);
  }

  /** Passes the input of the graph to its first nodes. */
  begin(input: Json): void {
    this.#handOn(START, input);
  }

  edit(patch: State | undefined): void {
    if (patch !== undefined) this.state = { ...this.state, ...patch };
  }

  /** Passes the output of a visit on. */
  gave({ id, key }: Visit, output: Json): void {
    this.#open.delete(id);
    this.#handOn(key, output);
  }

  /** A visit was not approved: its input goes to another node. */
  rejected({ id, key, input }: Visit, to: string): void {
    this.#open.delete(id);
    this.#arrive(key, to, input);
    this.#join();
  }

  #handOn(from: string, output: Json): void {
    for (const to of this.#targets(from, output)) this.#arrive(from, to, output);
    this.#join();
  }

  #targets(from: string, output: Json): Iterable<string> {
    const { edges, branches, nodes, name } = this.#shape;
    const plain = edges.get(from) ?? [];
    const choices = branches.get(from);
    if (choices === undefined) return plain;
    const targets = new Set(plain);
    for (const { choose, to } of choices) {
      const after = from === START ? "START" : from;
      const choice = () => choose(structuredClone(output) as never, structuredClone(this.state) as never);
      const chosen = saidBy(name, `the branch after ${after}`, choice);
      const keys = typeof chosen === "string" ? [chosen] : Array.isArray(chosen) ? (chosen as readonly string[]) : [];
      const wrong = keys.find((key) => (to === undefined ? key !== END && !nodes.has(key) : !to.includes(key)));
      if (keys.length > 0 && wrong === undefined) {
        for (const key of keys) targets.add(key);
        continue;
      }
      const problem =
        (chosen as unknown) instanceof Promise
          ? `the branch after ${after} gave a promise; it must choose at once, by what it is given`
          : wrong === undefined
            ? `the branch after ${after} chose ${chosen === undefined || Array.isArray(chosen) ? "nothing" : shown(chosen)}; it must name a node, or END`
            : `the branch after ${after} chose ${wrong}, which is no node that it may lead to`;
      throw belayError("GRAPH_INVALID", { graph: name, problem });
    }
    return targets;
  }

  #arrive(from: string, to: string, output: Json): void {
    if (to === END) {
      this.#arrived.set(from, output);
      return;
    }
    const sources = this.#shape.sources.get(to);
    if (this.#trigger === "any" || sources === undefined || sources.size < 2) return this.#visit(to, output, from);
    const waiting = this.#waiting.get(to);
    if (waiting === undefined) this.#waiting.set(to, new Map([[from, output]]));
    else waiting.set(from, output);
  }

  /** Nodes that several lead to begin when nothing under way can still bring them more. */
  #join(): void {
    for (let moved = true; moved && this.#waiting.size > 0; ) {
      moved = false;
      for (const key of [...this.#waiting.keys()]) {
        if (this.#mayGetMore(key)) continue;
        this.#fire(key);
        moved = true;
      }
      if (moved || this.#open.size > 0) continue;
      // They wait for one another, and for nothing else: the first one goes first.
      const [first] = this.#waiting.keys();
      this.#fire(first!);
      moved = true;
    }
  }

  #mayGetMore(key: string): boolean {
    const has = this.#waiting.get(key)!;
    const missing = [...this.#shape.sources.get(key)!].filter((source) => !has.has(source));
    if (missing.length === 0) return false;
    const others = [...this.#waiting.keys(), ...this.open.map((visit) => visit.key)].filter((other) => other !== key);
    const met = reach(others, (at) => leadsTo(this.#shape, at), key);
    return missing.some((source) => met.has(source));
  }

  #fire(key: string): void {
    const waiting = this.#waiting.get(key)!;
    this.#waiting.delete(key);
    const [only] = waiting.keys();
    this.#visit(key, this.#inputOf(waiting, this.#trigger === "all"), waiting.size === 1 ? only! : "");
  }

  /** Returns a single value as it is, and several by their source, in the order of the graph. */
  #inputOf(arrived: ReadonlyMap<string, Json>, always: boolean): Json {
    if (arrived.size < 2 && !always) {
      const [only = null] = arrived.values();
      return only;
    }
    this.#ranks ??= new Map([START, ...this.#shape.nodes.keys()].map((key, rank) => [key, rank]));
    const rank = (key: string) => this.#ranks?.get(key) ?? 0;
    return Object.fromEntries([...arrived].sort(([a], [b]) => rank(a) - rank(b)));
  }

  #visit(key: string, input: Json, from: string): void {
    this.#steps += 1;
    if (this.#steps > this.#maxSteps) {
      throw belayError("GRAPH_STEPS", { graph: this.#shape.name, maxSteps: this.#maxSteps, node: key });
    }
    const visit = this.#visits.get(key) ?? 0;
    this.#visits.set(key, visit + 1);
    const id = `${key}#${visit}`;
    const first = from === START && this.#trigger !== "all";
    this.#open.set(id, { key, visit, id, input, first });
  }
}
