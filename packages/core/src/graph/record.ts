// A graph as it is on record: the flow of its nodes, brought up to the journal. The runner of the graph reads it after each
// node; a look reads it once.

import { belayError } from "../error.ts";
import type { Desk } from "../frame.ts";
import type { RequestState } from "../interrupt/decision.ts";
import { approvalOf } from "../interrupt/decision.ts";
import type { ChildEnded, Scope } from "../journal/state.ts";
import type { Json } from "../json.ts";
import { valueOfFrame } from "../workflow/composite.ts";
import { type ApprovalPoints, digestOfVisit, notApproved, requestBefore } from "./approval.ts";
import { Flow, type State, saidBy, type Trigger, type Visit } from "./flow.ts";
import type { HaltReason } from "./halt.ts";
import type { Shape } from "./shape.ts";

/** The nodes at which it stops, by key; some only if the function returns true for the input or the output. */
export type Breakpoints = ReadonlyMap<string, ((value: Json, state: State) => boolean) | undefined>;

export interface Plan {
  readonly shape: Shape;
  readonly trigger: Trigger | undefined;
  readonly maxSteps: number;
  readonly state: State;
  readonly before: Breakpoints;
  readonly after: Breakpoints;
  readonly approvals: ApprovalPoints;
}

export type Look = Pick<Desk, "scope" | "breakpoints" | "request">;

interface Given {
  readonly at: number;
  readonly visit: Visit;
  readonly ended: ChildEnded;
}

/** A visit that was not approved, and the node that it leads to. */
interface Rejected {
  readonly at: number;
  readonly visit: Visit;
  readonly to: string;
}

/** How a visit that needs approval may continue: to be requested, waiting, or with this input. */
export type Permit = "ask" | { readonly waits: string } | { readonly input: Json };

export class GraphRecord {
  readonly #look: Look;
  readonly #plan: Plan;
  readonly #scope: Scope;
  readonly flow: Flow;
  /** Visits that have an output, and do not pass it on before a resume. */
  readonly held = new Set<string>();
  /** The first that ended those above it. */
  acted: ChildEnded | undefined;
  #begun = false;
  /** The paths of visits, by id: each is asked for several times. */
  readonly #paths = new Map<string, string>();
  /** How many of the recorded resumes are in the flow. */
  #goneOn = 0;

  constructor(look: Look, scope: Scope, plan: Plan) {
    this.#look = look;
    this.#scope = scope;
    this.#plan = plan;
    const { shape, trigger, maxSteps, state } = plan;
    this.flow = new Flow(shape, trigger, maxSteps, state);
  }

  /** Brings the flow up to the record. Throws the error of a branch or a condition. */
  read(): void {
    if (!this.#begun) {
      this.#begun = true;
      this.flow.begin(valueOfFrame({ scope: this.#scope }));
    }
    for (;;) {
      const next = this.#next();
      const gone = this.#scope.goneOn?.[this.#goneOn];
      if (gone !== undefined && (next === undefined || gone.at <= next.at)) {
        this.#goneOn += 1;
        this.flow.edit(gone.edit);
      } else if (next === undefined) return;
      else if ("to" in next) this.flow.rejected(next.visit, next.to);
      else this.#gave(next);
    }
  }

  /** Returns the first recorded output that the flow does not have. */
  #next(): Given | Rejected | undefined {
    let next: Given | Rejected | undefined;
    for (const visit of this.flow.open) {
      const ended = this.begun(visit)?.ended;
      if (ended === undefined) {
        const rejected = this.#rejected(visit);
        if (rejected !== undefined && (next === undefined || rejected.at < next.at)) next = rejected;
        continue;
      }
      const at = this.held.has(visit.id) ? this.#passed("after", visit) : ended.at;
      if (at !== undefined && (next === undefined || at < next.at)) next = { at, visit, ended };
    }
    return next;
  }

  #gave({ visit, ended }: Given): void {
    if (!this.held.has(visit.id)) {
      this.flow.edit(ended.patch);
      if (ended.action !== undefined) this.acted ??= ended;
      if (this.#breaks("after", visit.key, ended.output, ended.at)) {
        this.held.add(visit.id);
        return;
      }
    }
    this.held.delete(visit.id);
    this.flow.gave(visit, ended.output);
  }

  #rejected(visit: Visit): Rejected | undefined {
    const to = this.#plan.approvals.get(visit.key)?.onReject;
    if (to === undefined || this.begun(visit) !== undefined) return undefined;
    const { decision, settled: at } = this.requestBefore(visit) ?? {};
    return at !== undefined && approvalOf(decision)?.approved === false ? { at, visit, to } : undefined;
  }

  /** Returns the request before a visit, if one is on record. */
  requestBefore({ id }: Visit): RequestState | undefined {
    return requestBefore(this.#scope, id, (request) => this.#look.request(request));
  }

  /** Returns how a visit may begin; undefined if it needs no approval. Throws if it was rejected. */
  permit(visit: Visit): Permit | undefined {
    const { approvals, shape } = this.#plan;
    if (!approvals.has(visit.key) || this.begun(visit) !== undefined) return undefined;
    const request = this.requestBefore(visit);
    if (request === undefined) return "ask";
    const { interrupt, decision } = request;
    if (decision === undefined) return { waits: interrupt.id };
    const approval = approvalOf(decision);
    if (approval?.approved !== true) throw notApproved(request);
    if (interrupt.digest !== digestOfVisit(shape.name, visit.key, visit.input)) {
      const problem = `node ${visit.key} was approved with another input than it has now`;
      throw belayError("REPLAY_DIVERGED", { address: this.address(visit.id), problem });
    }
    return { input: approval.args ?? visit.input };
  }

  /** True if it begins only after a resume. */
  stopsBefore(visit: Visit): boolean {
    if (this.begun(visit) !== undefined || this.#passed("before", visit) !== undefined) return false;
    return this.#breaks("before", visit.key, visit.input);
  }

  /** Breakpoints that people set up to `until` count; else the compiled ones. */
  #breaks(at: "before" | "after", key: string, value: Json, until = Number.POSITIVE_INFINITY): boolean {
    const { name } = this.#plan.shape;
    const said = this.#look.breakpoints.findLast(
      (one) => one.node === key && one.at === at && (one.graph ?? name) === name && one.seq < until,
    );
    if (said !== undefined) return said.stop && (said.when === undefined || isIn(said.when, value));
    const breakpoints = this.#plan[at];
    if (!breakpoints.has(key)) return false;
    const when = breakpoints.get(key);
    if (when === undefined) return true;
    const say = () => when(structuredClone(value), structuredClone(this.flow.state));
    const stops: unknown = saidBy(name, `the breakpoint at ${key}`, say);
    if (!(stops instanceof Promise)) return Boolean(stops);
    const problem = `the breakpoint at ${key} gave a promise; it must say at once, by what it is given`;
    throw belayError("GRAPH_INVALID", { graph: name, problem });
  }

  /** Returns the seq of the resume past it. */
  #passed(reason: HaltReason, { id }: Visit): number | undefined {
    const address = this.address(id);
    const isThis = (one: { readonly reason: string; readonly address: string }) =>
      one.reason === reason && one.address === address;
    return this.#scope.goneOn?.find(({ past }) => past.some(isThis))?.at;
  }

  address(id: string): string {
    return `${this.#scope.path}/${id}`;
  }

  path({ id, key }: Visit): string {
    let path = this.#paths.get(id);
    if (path === undefined) {
      path = `${this.address(id)}:${this.#plan.shape.nodes.get(key)!.agent.name}`;
      this.#paths.set(id, path);
    }
    return path;
  }

  /** Returns the record of a visit in this run. */
  begun(visit: Visit): Scope | undefined {
    const scope = this.#look.scope(this.path(visit));
    return scope?.runId === this.#scope.runId ? scope : undefined;
  }
}

/** The same value, or an object with at least these keys. */
function isIn(wanted: Json, value: Json): boolean {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) {
    return JSON.stringify(wanted) === JSON.stringify(value);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const has = value as Readonly<Record<string, Json>>;
  return Object.entries(wanted).every(([key, each]) => Object.hasOwn(has, key) && isIn(each, has[key]!));
}
