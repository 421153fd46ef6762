// Runs a graph. Invariants:
// 1. What comes next is read from what its nodes have on record, in the order of the journal; it keeps nothing itself.
// 2. Nodes that are ready run at once. One that fails, asks or stops does not hold up those that need nothing of it (G5).
// 3. Past a breakpoint it goes once somebody has gone on from the pause that listed it, once for each visit (G1).

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { BelayError, belayError, errorText } from "../error.ts";
import type { Frame } from "../frame.ts";
import { toJson } from "../json.ts";
import { type ChildEnd, type ChildInput, runChild } from "../workflow/child.ts";
import { completed, inputOf, together } from "../workflow/composite.ts";
import type { Visit } from "./flow.ts";
import { type HaltReason, haltOf } from "./halt.ts";
import { GraphRecord, type Plan } from "./record.ts";

export function runGraph(frame: Frame, plan: Plan): Promise<Ended> {
  return new GraphRun(frame, plan).run();
}

class GraphRun {
  readonly #frame: Frame;
  readonly #plan: Plan;
  readonly #record: GraphRecord;
  /** Visits that were looked at in this stretch. */
  readonly #met = new Set<string>();
  readonly #halted = new Set<string>();
  /** How visits that do not move came to their rest. */
  readonly #rests = new Map<string, Exclude<ChildEnd, { how: "completed" }>>();
  #running = 0;
  #over = false;
  #failure: BelayError | undefined;
  #end: (ended: Ended) => void = () => {};

  constructor(frame: Frame, plan: Plan) {
    this.#frame = frame;
    this.#plan = plan;
    this.#record = new GraphRecord(frame.desk, frame.scope, plan);
  }

  run(): Promise<Ended> {
    const ended = new Promise<Ended>((resolve) => (this.#end = resolve));
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
      if (this.#failure !== undefined) return;
      this.#record.read();
      const { acted, flow } = this.#record;
      const stops = this.#frame.signal.halts("after-tools");
      for (const visit of flow.open) {
        if (this.#met.has(visit.id)) continue;
        // One has ended all of it: nothing begins any more, and those that have begun come to their end.
        if (acted !== undefined && this.#record.begun(visit) === undefined) continue;
        this.#met.add(visit.id);
        if (!stops && this.#record.stopsBefore(visit)) this.#halted.add(visit.id);
        else this.#start(visit);
      }
    });
    this.#settle();
  }

  #start(visit: Visit): void {
    this.#running += 1;
    const path = this.#record.path(visit);
    const { agent } = this.#plan.shape.nodes.get(visit.key)!;
    this.#inputFor(visit)
      // After a stop nothing begins, whatever it would have been given.
      .then((input = { value: null }) => runChild(this.#frame, { agent, path }, input))
      .catch((error): ChildEnd => ({ how: "failed", facts: [], error: failureOf(error, visit.key) }))
      .then((end) => this.#rested(visit, path, end));
  }

  /** What it begins with, or nothing where a stop came first. One that has begun has that on record. */
  async #inputFor(visit: Visit): Promise<ChildInput | undefined> {
    const { before } = this.#plan.shape.nodes.get(visit.key)!;
    if (this.#record.begun(visit) !== undefined) return { value: visit.input };
    if (before === undefined) return visit.first ? inputOf(this.#frame) : { value: visit.input };
    const make = async () => {
      const made = await before(structuredClone(visit.input), structuredClone(this.#record.flow.state));
      return { value: toJson(made, `What ${visit.key} is given`, this.#frame.desk.maxBytes) };
    };
    return this.#frame.signal.orStopped(make());
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
          // One that runs may have read its record before this was on it.
          if (this.#over || this.#rests.get(visit.id)?.how !== "asking") return false;
          this.#rests.delete(visit.id);
          this.#start(visit);
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
    const { acted, held, flow } = this.#record;
    const cut = together([...this.#rests.values()]);
    if (cut?.how === "stopped") return cut;
    const facts = cut?.facts ?? [];
    if (this.#failure !== undefined) return { how: "failed", facts, error: this.#failure };
    if (cut?.how === "failed") return cut;
    if (acted !== undefined && cut === undefined) {
      return completed(frame, acted.output, acted.action);
    }
    const halted = this.#halt("before", this.#halted) + this.#halt("after", held);
    if (halted > 0) return { how: "asking", facts, calls: cut?.calls ?? noCalls };
    return cut ?? completed(frame, flow.output);
  }

  #halt(reason: HaltReason, ids: ReadonlySet<string>): number {
    const keys = [...ids].map((id) => id.slice(0, id.lastIndexOf("#")));
    for (const id of ids) this.#frame.desk.halt(haltOf(this.#frame, reason, this.#record.address(id), keys));
    return ids.size;
  }
}

function failureOf(error: unknown, agent: string): BelayError {
  return error instanceof BelayError ? error : belayError("AGENT_FAILED", { agent, reason: errorText(error) }, error);
}
