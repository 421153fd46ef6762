// Runs a graph. Invariants:
// 1. What comes next is read from what its nodes have on record, in the order of the journal; it keeps nothing itself.
// 2. Nodes that are ready run at once. One that fails, asks or stops does not hold up those that need nothing of it (G5).
// 3. Past a breakpoint it goes once somebody has gone on from the pause that listed it, once for each visit (G1).

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { BelayError, belayError, errorText } from "../error.ts";
import type { Frame } from "../frame.ts";
import type { ChildEnded } from "../journal/state.ts";
import { type Json, toJson } from "../json.ts";
import { type ChildEnd, type ChildInput, runChild } from "../workflow/child.ts";
import { completed, inputOf, together, valueOfFrame } from "../workflow/composite.ts";
import { Flow, type State, type Trigger, type Visit } from "./flow.ts";
import { type HaltReason, haltOf } from "./halt.ts";
import type { Shape } from "./shape.ts";

/** Where it stops: nodes by key, some only when `when` says so of what the node is given, or gave. */
export type Breakpoints = ReadonlyMap<string, ((value: Json, state: State) => boolean) | undefined>;

export interface Plan {
  readonly shape: Shape;
  readonly trigger: Trigger | undefined;
  readonly maxSteps: number;
  readonly state: State;
  readonly before: Breakpoints;
  readonly after: Breakpoints;
}

export function runGraph(frame: Frame, plan: Plan): Promise<Ended> {
  return new GraphRun(frame, plan).run();
}

export function visitPath(graphPath: string, { nodes }: Shape, { id, key }: Visit): string {
  return `${graphPath}/${id}:${nodes.get(key)!.agent.name}`;
}

/** A flow that has not begun. */
export function newFlow({ shape, trigger, maxSteps, state }: Plan): Flow {
  return new Flow(shape, trigger, maxSteps, state);
}

class GraphRun {
  readonly #frame: Frame;
  readonly #plan: Plan;
  readonly #flow: Flow;
  /** Visits that were looked at in this stretch. */
  readonly #met = new Set<string>();
  readonly #halted = new Set<string>();
  /** Visits that have given, and do not hand it on yet. */
  readonly #held = new Set<string>();
  /** How visits that do not move came to their rest. */
  readonly #rests = new Map<string, Exclude<ChildEnd, { how: "completed" }>>();
  /** How many of the times that somebody went on are in the flow. */
  #goneOn = 0;
  #running = 0;
  #over = false;
  #acted: ChildEnded | undefined;
  #failure: BelayError | undefined;
  #end: (ended: Ended) => void = () => {};

  constructor(frame: Frame, plan: Plan) {
    this.#frame = frame;
    this.#plan = plan;
    this.#flow = newFlow(plan);
  }

  run(): Promise<Ended> {
    const ended = new Promise<Ended>((resolve) => (this.#end = resolve));
    this.#try(() => this.#flow.begin(valueOfFrame(this.#frame)));
    this.#goOn();
    return ended;
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failure ??= failureOf(error, this.#plan.shape.name);
    }
  }

  #goOn(): void {
    this.#try(() => {
      this.#read();
      if (this.#failure !== undefined || this.#acted !== undefined) return;
      for (const visit of this.#flow.open) {
        if (this.#met.has(visit.id)) continue;
        this.#met.add(visit.id);
        if (this.#stopsBefore(visit)) this.#halted.add(visit.id);
        else this.#start(visit);
      }
    });
    this.#settle();
  }

  /** Brings the flow up to what is on record. */
  #read(): void {
    while (this.#failure === undefined) {
      const next = this.#next();
      const gone = this.#frame.scope.goneOn?.[this.#goneOn];
      if (gone !== undefined && (next === undefined || gone.at <= next.at)) {
        this.#goneOn += 1;
        this.#flow.edit(gone.edit);
      } else if (next === undefined) return;
      else this.#gave(next.visit, next.ended);
    }
  }

  /** What was recorded first of all that the flow does not know. */
  #next(): { readonly at: number; readonly visit: Visit; readonly ended: ChildEnded } | undefined {
    let next: { readonly at: number; readonly visit: Visit; readonly ended: ChildEnded } | undefined;
    for (const visit of this.#flow.open) {
      const ended = this.#scope(visit)?.ended;
      if (ended === undefined) continue;
      const at = this.#held.has(visit.id) ? this.#passed("after", visit) : ended.at;
      if (at !== undefined && (next === undefined || at < next.at)) next = { at, visit, ended };
    }
    return next;
  }

  #gave(visit: Visit, ended: ChildEnded): void {
    if (!this.#held.has(visit.id)) {
      this.#flow.edit(ended.patch);
      if (ended.action !== undefined) this.#acted ??= ended;
      if (this.#breaks(this.#plan.after, visit.key, ended.output)) {
        this.#held.add(visit.id);
        return;
      }
    }
    this.#held.delete(visit.id);
    this.#flow.gave(visit, ended.output);
  }

  #start(visit: Visit): void {
    this.#running += 1;
    const path = visitPath(this.#frame.place.runPath, this.#plan.shape, visit);
    const { agent } = this.#plan.shape.nodes.get(visit.key)!;
    this.#inputFor(visit)
      .then((input) => runChild(this.#frame, { agent, path }, input))
      .catch((error): ChildEnd => ({ how: "failed", facts: [], error: failureOf(error, visit.key) }))
      .then((end) => this.#rested(visit, path, end));
  }

  /** What it begins with. One that has begun has that on record. */
  async #inputFor(visit: Visit): Promise<ChildInput> {
    const { before } = this.#plan.shape.nodes.get(visit.key)!;
    if (this.#scope(visit) !== undefined) return { value: visit.input };
    if (before === undefined) return visit.first ? inputOf(this.#frame) : { value: visit.input };
    const made = await before(structuredClone(visit.input), structuredClone(this.#flow.state));
    return { value: toJson(made, `What ${visit.key} is given`) };
  }

  #rested(visit: Visit, path: string, end: ChildEnd): void {
    this.#running -= 1;
    if (end.how === "completed") return this.#goOn();
    this.#rests.set(visit.id, end);
    if (end.how !== "asking") return this.#settle();
    if (end.facts.length === 0 || this.#over) {
      this.#listen(visit, path);
      return this.#settle();
    }
    // What it asks is asked now: the others may take long.
    this.#rests.set(visit.id, { ...end, facts: [] });
    this.#running += 1;
    void this.#frame
      .record(() => end.facts)
      .then(() => {
        this.#running -= 1;
        this.#listen(visit, path);
        this.#settle();
      });
  }

  /** It goes on as soon as people have answered, whatever the others do. */
  #listen(visit: Visit, path: string): void {
    const { desk } = this.#frame;
    for (const id of desk.openBelow(path)) {
      desk.await(id, {
        decided: () => {
          if (this.#over) return false;
          if (this.#rests.get(visit.id)?.how === "asking") {
            this.#rests.delete(visit.id);
            this.#start(visit);
          }
          return true;
        },
      });
    }
  }

  #settle(): void {
    if (this.#running > 0 || this.#over) return;
    // Judged a macrotask later: an answer may be on its way.
    const quiet = () => {
      if (this.#running > 0 || this.#over) return;
      this.#over = true;
      this.#end(this.#ended());
    };
    if ([...this.#rests.values()].some(({ how }) => how === "asking")) setImmediate(quiet);
    else quiet();
  }

  #ended(): Ended {
    const frame = this.#frame;
    const cut = together([...this.#rests.values()]);
    if (cut?.how === "stopped") return cut;
    const facts = cut?.facts ?? [];
    if (this.#failure !== undefined) return { how: "failed", facts, error: this.#failure };
    if (cut?.how === "failed") return cut;
    if (this.#acted !== undefined && cut === undefined) {
      return completed(frame, this.#acted.output, this.#acted.action);
    }
    const halted = this.#halt("before", this.#halted) + this.#halt("after", this.#held);
    if (halted > 0) return { how: "asking", facts, calls: cut?.calls ?? noCalls };
    return cut ?? completed(frame, this.#flow.output);
  }

  #halt(reason: HaltReason, ids: ReadonlySet<string>): number {
    const keys = [...ids].map((id) => id.slice(0, id.lastIndexOf("#")));
    for (const id of ids) this.#frame.desk.halt(haltOf(this.#frame, reason, this.#address(id), keys));
    return ids.size;
  }

  #stopsBefore(visit: Visit): boolean {
    if (this.#scope(visit) !== undefined || this.#frame.signal.halts("after-tools")) return false;
    return this.#passed("before", visit) === undefined && this.#breaks(this.#plan.before, visit.key, visit.input);
  }

  #breaks(breakpoints: Breakpoints, key: string, value: Json): boolean {
    if (!breakpoints.has(key)) return false;
    const when = breakpoints.get(key);
    return when === undefined || when(structuredClone(value), structuredClone(this.#flow.state));
  }

  /** When somebody went on past it. */
  #passed(reason: HaltReason, { id }: Visit): number | undefined {
    const address = this.#address(id);
    const isThis = (one: { readonly reason: string; readonly address: string }) =>
      one.reason === reason && one.address === address;
    return this.#frame.scope.goneOn?.find(({ past }) => past.some(isThis))?.at;
  }

  #address(id: string): string {
    return `${this.#frame.place.runPath}/${id}`;
  }

  /** What it has on record in this run. */
  #scope(visit: Visit) {
    const { runPath, runId } = this.#frame.place;
    const scope = this.#frame.desk.scope(visitPath(runPath, this.#plan.shape, visit));
    return scope?.runId === runId ? scope : undefined;
  }
}

function failureOf(error: unknown, agent: string): BelayError {
  return error instanceof BelayError ? error : belayError("AGENT_FAILED", { agent, reason: errorText(error) }, error);
}
