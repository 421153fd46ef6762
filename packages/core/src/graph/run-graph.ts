// Runs a graph. Invariants:
// 1. What comes next is read from what its nodes have on record, in the order of the journal; it keeps nothing itself.
// 2. Nodes that are ready run at once. One that fails, asks or stops does not hold up those that need nothing of it (G5).
// 3. It passes a breakpoint after a resume from the pause that listed it, once for each visit (G1).
// 4. A node that a person approves is asked for once for each visit, and does not begin without the recorded approval (O3).

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { BelayError, belayError, errorText } from "../error.ts";
import type { Frame } from "../frame.ts";
import { type Json, toJson } from "../json.ts";
import { type ChildEnd, type ChildInput, runChild } from "../workflow/child.ts";
import { completed, inputOf, nothingMoves, together } from "../workflow/composite.ts";
import { approvalBefore } from "./approval.ts";
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
  /** Visits that were looked at in this segment. */
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
        else this.#admit(visit, stops);
      }
    });
    this.#settle();
  }

  /** Starts the visit, or waits for the person that has to approve it. */
  #admit(visit: Visit, stops: boolean): void {
    const permit = stops ? undefined : this.#record.permit(visit);
    if (permit === undefined) return this.#start(visit, undefined);
    if (permit === "ask") return this.#ask(visit);
    if ("input" in permit) return this.#start(visit, permit.input);
    this.#rests.set(visit.id, nothingMoves);
    this.#heed(visit, permit.waits);
  }

  #ask(visit: Visit): void {
    const frame = this.#frame;
    const { shape, approvals } = this.#plan;
    const { flow } = this.#record;
    const address = this.#record.address(visit.id);
    const interrupt = approvalBefore(frame, shape.name, address, visit, approvals.get(visit.key)!, flow.state);
    const { id } = interrupt;
    this.#rests.set(visit.id, nothingMoves);
    // Before it can be seen: an answer may follow at once.
    this.#heed(visit, id);
    this.#running += 1;
    const declined = frame.desk.unattended ? [frame.declined(id)] : [];
    void frame
      .record(() => [frame.raised(interrupt), ...declined])
      .then(() => {
        this.#running -= 1;
        this.#settle();
      });
  }

  /** Looks at the visit again once its request is decided. */
  #heed(visit: Visit, id: string): void {
    const decided = () => {
      if (this.#over) return false;
      this.#rests.delete(visit.id);
      this.#met.delete(visit.id);
      this.#goOn();
      return true;
    };
    this.#frame.desk.await(id, { decided });
  }

  #start(visit: Visit, edited: Json | undefined): void {
    this.#running += 1;
    const path = this.#record.path(visit);
    const { agent } = this.#plan.shape.nodes.get(visit.key)!;
    this.#inputFor(visit, edited)
      // After a stop nothing begins, whatever it would have been given.
      .then((input = { value: null }) => runChild(this.#frame, { agent, path }, input))
      .catch((error): ChildEnd => ({ how: "failed", facts: [], error: failureOf(error, visit.key) }))
      .then((end) => this.#rested(visit, path, end));
  }

  /** Returns its input, or nothing if a stop came first. A visit that has begun has its input on record. */
  async #inputFor(visit: Visit, edited: Json | undefined): Promise<ChildInput | undefined> {
    const { before } = this.#plan.shape.nodes.get(visit.key)!;
    const input = edited ?? visit.input;
    if (this.#record.begun(visit) !== undefined) return { value: visit.input };
    const isGiven = visit.first && input === visit.input;
    if (before === undefined) return isGiven ? inputOf(this.#frame) : { value: input };
    const make = async () => {
      const made = await before(structuredClone(input), structuredClone(this.#record.flow.state));
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
    // Raise its requests now: the other nodes may take long.
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

  /** Continues it as soon as people have answered, whatever the other nodes do. */
  #listen(visit: Visit, path: string): void {
    const { desk } = this.#frame;
    for (const id of desk.openBelow(path)) {
      desk.await(id, {
        decided: () => {
          // One that runs may have read its record before this was on it.
          if (this.#over || this.#rests.get(visit.id)?.how !== "asking") return false;
          this.#rests.delete(visit.id);
          this.#start(visit, undefined);
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
