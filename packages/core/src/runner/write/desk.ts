// Answers the questions of the frames of one tenure from the fold of its writer. Only the writer changes that fold.

import type { Draft, Fact, Patch } from "../../event.ts";
import type {
  Awaiting,
  Desk,
  Frame,
  FramePlace,
  HotCode,
  InsideStop,
  LateResult,
  Recording,
  Remembered,
  Speech,
} from "../../frame.ts";
import type { Hook, HookTable } from "../../hooks/hooks.ts";
import type { Decision, RequestState } from "../../interrupt/decision.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { callEnds } from "../../journal/call-ends.ts";
import { folded } from "../../journal/fold.ts";
import { isWithin } from "../../journal/reduce.ts";
import { openRequests } from "../../journal/requests.ts";
import type { CallState, Scope, SetBreakpoint, ThreadState } from "../../journal/state.ts";
import type { Log } from "../../log.ts";
import type { Message } from "../../message.ts";
import type { CheckedPermissions } from "../../permission/permissions.ts";
import type { PermissionRule } from "../../permission/rule.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";
import type { LateMail } from "../decide/mail.ts";
import type { Setup } from "../given/setup.ts";
import type { Feed } from "../read/feed.ts";
import type { HotRoom } from "./hot.ts";
import type { LatePost } from "./late-post.ts";
import type { Mailbox } from "./mailbox.ts";
import { Writer, type WriterHost, type WriterOptions } from "./writer.ts";

/** The setup of a runner, with the hot code and the late results of all its threads. */
export interface RunnerSetup extends Setup {
  readonly hot: HotRoom;
  readonly late: LatePost;
}

/** The parts of a thread that its desks use. */
export interface DeskHost extends WriterHost {
  readonly setup: RunnerSetup;
  /** Calls of this thread that were left behind and still run. */
  readonly behind: string[];
  readonly hot: HotCode;
}

export interface DeskOptions extends Omit<WriterOptions, "decided" | "rows"> {
  /** Stops the run. A desk that only looks has none. */
  readonly interrupt?: (stop: InsideStop) => void;
}

/** The ids of calls that every provider accepts. */
const CALL_ID = /^[A-Za-z0-9_-]{1,40}$/;

const nothing: readonly never[] = [];
const noValues: Patch = {};

/** The `onText` hooks that threw, in the last run of each thread. */
const muted = new WeakMap<DeskHost, { readonly runId: string; readonly hooks: Set<Hook> }>();

/** The desk of one tenure, and the writer that it makes. */
export class ThreadDesk implements Desk {
  readonly writer: Writer;
  readonly state: ThreadState;
  readonly #host: DeskHost;
  readonly #setup: RunnerSetup;
  readonly #feed: Feed;
  readonly #mailbox: Mailbox | undefined;
  readonly #interrupt: DeskOptions["interrupt"];
  /** The path of the agent that each call id of this segment was given to, by the id. */
  #callIds: Map<string, string> | undefined;
  /** The code that waits for the decision on a request, by the id of the request. */
  #awaiting: Map<string, Awaiting> | undefined;
  /** The pauses of graph nodes that wait to be resumed, by address. */
  #halts: Map<string, Interrupt> | undefined;
  #below: { readonly head: number; readonly paths: ReadonlyMap<string, readonly string[]> } | undefined;
  /** A request was decided, and no running code could act on the decision. */
  unheard = false;

  constructor(host: DeskHost, state: ThreadState, options: DeskOptions) {
    this.#host = host;
    this.#setup = host.setup;
    this.#feed = host.feed;
    this.state = state;
    this.#mailbox = options.mailbox;
    this.#interrupt = options.interrupt;
    // Its fields one by one: each run makes a desk, and a spread costs as much as the rest of it.
    const decided = (id: string, decision: Decision) => this.#decided(id, decision);
    const { agent, failed, mailbox } = options;
    this.writer = new Writer(host, state, { agent, failed, mailbox, decided });
  }

  record(recording: Recording): void {
    this.writer.record(recording);
  }

  publish(draft: Draft): void {
    this.writer.publish(draft);
  }

  speak(speech: Speech): void {
    this.#feed.speak(speech);
  }

  hush(speech: Speech): void {
    this.#feed.hush(speech);
  }

  get watched(): boolean {
    return this.#feed.watched;
  }

  get head(): number {
    return this.state.head;
  }

  get maxBytes(): number {
    return this.#setup.maxBytes;
  }

  get hot(): HotCode {
    return this.#host.hot;
  }

  callId(wanted: string, by: string): string {
    const given = this.#callIds?.get(wanted) ?? by;
    if (!CALL_ID.test(wanted) || this.state.callIds.has(wanted) || given !== by) {
      return `call_${this.#setup.clock.id()}`;
    }
    // The models of agents that run at once may choose the same id before either is recorded. A second try of one agent may
    // have the id again. An agent that is alone in its thread shares ids with no other.
    if (this.state.scopes.size < 2) return wanted;
    this.#callIds ??= new Map();
    this.#callIds.set(wanted, by);
    return wanted;
  }

  leaveBehind(frame: Frame, call: CallState, late: Promise<LateResult | undefined>): void {
    const { id: callId, tool } = call.part;
    const { key, recall, behind } = this.#host;
    behind.push(callId);
    const { runId, agentName, runPath, segment } = frame.place;
    const { address } = call;
    const { since } = recall;
    const gone = () => void behind.splice(behind.indexOf(callId), 1);
    void late.then(async (result) => {
      if (result === undefined) return gone();
      const mail: LateMail = { path: runPath, segment, callId, tool, address, ...result };
      const command: Command = {
        key: `late:${runId}:${address}:${callId}`,
        kind: "late",
        body: JSON.stringify(mail),
        at: this.#setup.clock.now(),
      };
      const place = { runId, agentName, runPath };
      const sent = await this.#setup.late.send({ key, since, command, place, callId, tool });
      if (sent) this.#mailbox?.deliver([command]);
      gone();
    });
  }

  mutedHooks(runId: string): Set<Hook> {
    let known = muted.get(this.#host);
    if (known?.runId !== runId) {
      known = { runId, hooks: new Set() };
      muted.set(this.#host, known);
    }
    return known.hooks;
  }

  get values(): Patch {
    return this.state.values ?? noValues;
  }

  interrupt(stop: InsideStop): void {
    this.#interrupt?.(stop);
  }

  get unattended(): boolean {
    return this.#setup.unattended;
  }

  get hooks(): HookTable | undefined {
    return this.#setup.hooks;
  }

  get log(): Log {
    return this.#setup.log;
  }

  get permissions(): CheckedPermissions | undefined {
    return this.#setup.permissions;
  }

  scope(path: string): Scope | undefined {
    return this.state.scopes.get(path);
  }

  begunBelow(path: string, runId: string): readonly Scope[] {
    const begun: Scope[] = [];
    for (const below of this.#pathsBelow().get(path) ?? nothing) {
      const scope = this.state.scopes.get(below);
      if (scope?.runId === runId) begun.push(scope);
    }
    return begun;
  }

  /** The paths of all agents, by the path of the agent around them. Kept until the next append: one search for each agent took too long. */
  #pathsBelow(): ReadonlyMap<string, readonly string[]> {
    const { scopes, head } = this.state;
    if (this.#below?.head === head) return this.#below.paths;
    const paths = new Map<string, string[]>();
    for (const path of scopes.keys()) {
      const around = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
      const known = paths.get(around);
      if (known === undefined) paths.set(around, [path]);
      else known.push(path);
    }
    this.#below = { head, paths };
    return paths;
  }

  saidMeanwhile({ runId, runPath }: FramePlace, branches: readonly string[]): readonly Message[] {
    const [root = runPath] = runPath.split("/");
    const later = this.state.scopes.get(root)?.later ?? nothing;
    if (later.length === 0) return later;
    const heard = new Set<string>();
    // An agent in another branch that runs at the same time receives the message itself.
    const beside = (path: string) =>
      branches.some(
        (branch) => isWithin(path, [branch.slice(0, branch.lastIndexOf("/"))]) && !isWithin(path, [branch]),
      );
    for (const { path, runId: of, given } of this.state.scopes.values()) {
      if (path !== root && of === runId && !beside(path)) for (const { id } of given) heard.add(id);
    }
    return later.filter(({ id }) => !heard.has(id));
  }

  openBelow(path: string): readonly string[] {
    const below = `${path}/`;
    return openRequests(this.state).flatMap(({ id, address }) => (address.startsWith(below) ? [id] : []));
  }

  closedBelow({ place }: Frame, runPath: string, forGood: boolean, facts: readonly Fact[] = nothing): readonly Fact[] {
    if (this.state.requests === undefined && !forGood) return nothing;
    const cause = forGood ? "over" : "closed";
    return callEnds({ ...place, runPath }, this.state, cause, { within: [runPath], ended: facts });
  }

  request(id: string): RequestState | undefined {
    return this.state.requests?.get(id);
  }

  get breakpoints(): readonly SetBreakpoint[] {
    return this.state.breakpoints ?? nothing;
  }

  isToRerun(address: string): boolean {
    return this.state.reruns?.some((each) => each.address === address) ?? false;
  }

  halt(interrupt: Interrupt): void {
    this.#halts ??= new Map();
    this.#halts.set(interrupt.address, interrupt);
  }

  get halts(): readonly Interrupt[] {
    return this.#halts === undefined ? nothing : [...this.#halts.values()];
  }

  await(id: string, awaiting: Awaiting): void {
    this.#awaiting ??= new Map();
    this.#awaiting.set(id, awaiting);
    if (awaiting.schema !== undefined) this.#host.schemas.set(id, awaiting.schema);
  }

  async remembered(): Promise<Remembered> {
    const { key } = this.#host;
    const { store } = this.#setup;
    try {
      const thread = this.state.openOnly ? await rulesOf(store, key) : (this.state.rules ?? []);
      const rows = await store.rules(key.tenant);
      return { thread, always: rows.map(({ body }) => JSON.parse(body) as PermissionRule) };
    } catch (error) {
      this.writer.broke(error);
      return new Promise(() => {});
    }
  }

  hasMail(frame: Frame, only?: "steer"): boolean {
    const mailbox = this.#mailbox;
    if (mailbox === undefined) return false;
    const root = frame.hears;
    return only === "steer" ? root && mailbox.hasSteer : mailbox.has(frame.place.runPath, root, this.state.scopes);
  }

  takeMail(frame: Frame): Promise<void> {
    const { place, scope, clock } = frame;
    const root = frame.hears;
    const facts = () => kept(this.#mailbox?.take(place, scope, root, clock.now(), this.state) ?? [], place);
    return new Promise((recorded) => this.writer.record({ facts, recorded, mail: true }));
  }

  #decided(id: string, decision: Decision): void {
    const awaiting = this.#awaiting?.get(id);
    this.#awaiting?.delete(id);
    if (decision.how !== "withdrawn" && awaiting?.decided(decision) !== true) this.unheard = true;
  }
}

/** Repeats a message to a nested agent at the root of the run, where callers see it. */
function kept(facts: readonly Fact[], { runPath }: FramePlace): readonly Fact[] {
  const end = runPath.indexOf("/");
  if (end === -1) return facts;
  const root = runPath.slice(0, end);
  return facts.flatMap((fact): Fact[] =>
    fact.type === "message" ? [{ ...fact, agentName: root, runPath: root }, fact] : [fact],
  );
}

/** Reads the rules of a thread from the store, for a fold that holds only open requests. */
async function rulesOf(store: Store, key: ThreadKey): Promise<readonly PermissionRule[]> {
  const loaded = await store.load(key);
  return folded(key.threadId, loaded?.lines ?? []).rules ?? [];
}
