// The options of a runner, checked when it is made.

import { type Agent, definitionOf } from "../../agent.ts";
import { type Clock, systemClock } from "../../clock.ts";
import type { Dispatcher } from "../../dispatch/dispatcher.ts";
import { wakingStore } from "../../dispatch/waking-store.ts";
import { type BelayError, belayError } from "../../error.ts";
import { type HooksGiven, readHooks } from "../../hooks/hooks.ts";
import type { Groups } from "../../interrupt/decision.ts";
import type { MemberOf } from "../../interrupt/vouched.ts";
import { consoleLog, type Log } from "../../log.ts";
import { type Permissions, readPermissions } from "../../permission/permissions.ts";
import { memoryStore } from "../../store/memory.ts";
import { ownerName } from "../../store/owner.ts";
import type { Store } from "../../store/store.ts";
import { anything, type Checks, checkOptions, flag, milliseconds, optional } from "../given/check.ts";
import { COMMAND } from "../given/command-options.ts";
import { type RunOptions, where } from "../given/options.ts";
import type { Where } from "../given/setup.ts";
import type { RunnerSetup } from "../write/desk.ts";
import { HotRoom } from "../write/hot.ts";
import { LatePost } from "../write/late-post.ts";

const MAX_BYTES = 32 * 1024 * 1024;

const MAX_HOT = 1_000;

/** The options of `createRunner()`. */
export interface RunnerOptions<Out, Deps> {
  /** The agent, or several: the first is the one for new threads that name none. */
  readonly agent?: Agent<Out, Deps> | undefined;
  readonly agents?: readonly Agent<Out, Deps>[] | undefined;
  /** In memory by default. */
  readonly store?: Store | undefined;
  /** Threads of one tenant are invisible to the others. */
  readonly tenant?: string | undefined;
  /** The value of ctx.deps in tools; never recorded. */
  readonly deps?: Deps | undefined;
  /** How long a thread stays with this process after the process is gone. */
  readonly leaseTtlMs?: number | undefined;
  /**
   * The most that one thing to be recorded may take, in bytes of JSON: an input, an answer of a model, a result of a tool, a
   * value of a step …; 32 MiB by default.
   */
  readonly maxBytes?: number | undefined;
  /** Which calls may run, must be approved by a person, or never run; agents may say more. */
  readonly permissions?: Permissions | undefined;
  /** True if no person can be asked: a call that would ask is denied. */
  readonly unattended?: boolean | undefined;
  /**
   * The members of the groups that requests name as approvers (`group:x`), by group; or a function of a group and a person. The
   * process that receives an answer calls it. Without `groups`, no person belongs to any.
   */
  readonly groups?: Groups | MemberOf | undefined;
  /** How many tools that wait for a person stay in memory; the others begin again from their recorded steps. */
  readonly maxHot?: number | undefined;
  /**
   * The most threads that this process runs at once for `work`, `enqueue` and `send` together; `run` and `resume` are not
   * bounded.
   */
  readonly concurrency?: number | undefined;
  /**
   * Which process starts inputs and runs approved calls: this one, or one that calls `work()`. A runner without agents starts
   * nothing.
   */
  readonly start?: Where | undefined;
  /** The engine of the workers of this store: it gets a wake for each thread that has to move (`@belay/core/dispatch`). */
  readonly dispatcher?: Pick<Dispatcher, "wake"> | undefined;
  /** The time that the handle of a pause is valid; without end by default. */
  readonly tokenTtlMs?: number | undefined;
  /** work() removes threads that have ended and were not written to for this time. By default it removes none. */
  readonly ttlMs?: number | undefined;
  /** Whether the first input of a thread makes its title, in the store and in lists; true by default. */
  readonly titles?: boolean | undefined;
  /** Called around the work of every agent, outside of its own hooks: one object of hooks, or several, the outermost first. */
  readonly hooks?: HooksGiven<Deps> | undefined;
  /** Gets errors beside a run that fail nothing, such as that of a hook after a step. The console by default. */
  readonly log?: Log | undefined;
  readonly clock?: Clock | undefined;
}

const atLeastZero = optional("a number, 0 or more", (value) => typeof value === "number" && value >= 0);

const OPTIONS: Checks<RunnerOptions<never, never>> = {
  agent: anything,
  agents: anything,
  store: anything,
  tenant: anything,
  deps: anything,
  leaseTtlMs: anything,
  maxBytes: anything,
  permissions: anything,
  unattended: anything,
  groups: anything,
  maxHot: atLeastZero,
  concurrency: optional("a number, 1 or more", (value) => (value as number) >= 1),
  start: where,
  dispatcher: optional(
    "a dispatcher, such as pollingDispatcher(store) gives",
    (value) => typeof (value as Dispatcher | null)?.wake === "function",
  ),
  tokenTtlMs: atLeastZero,
  ttlMs: milliseconds,
  titles: flag,
  hooks: anything,
  log: anything,
  clock: anything,
};

/** The options of `runner.open()`. */
export interface OpenOptions<Deps> {
  /** The name of the agent for a new thread. */
  readonly agent?: string | undefined;
  readonly deps?: Deps | undefined;
}

/** The options of runner.start(). `agent` and `deps` are those of runner.open(). */
export type StartOptions<Deps> = RunOptions & OpenOptions<Deps>;

export const START: Checks<StartOptions<never>> = { ...COMMAND, agent: anything, deps: anything };

/** By name; the first is the one for new threads that name none. */
export function readAgents<Out, Deps>(options: RunnerOptions<Out, Deps>): ReadonlyMap<string, Agent<Out, Deps>> {
  checkOptions("createRunner()", options, OPTIONS);
  const agents = new Map<string, Agent<Out, Deps>>();
  for (const agent of agentsOf(options)) {
    definitionOf(agent);
    if (agents.has(agent.name)) {
      throw belayError("AGENT_INVALID", { agent: agent.name, problem: "another agent of this runner has that name" });
    }
    agents.set(agent.name, agent);
  }
  if (agents.size === 0 && options.store === undefined) {
    const problem = "a runner needs an agent: pass agent or agents, or the store of other processes";
    throw belayError("AGENT_INVALID", { agent: "(none)", problem });
  }
  return agents;
}

function agentsOf<Out, Deps>(options: RunnerOptions<Out, Deps>): readonly Agent<Out, Deps>[] {
  const { agent, agents = [] } = options;
  if (!Array.isArray(agents)) throw belayError("AGENT_INVALID", { agent: "(none)", problem: "agents is not a list" });
  return agent === undefined ? agents : [agent, ...agents];
}

export function readSetup<Out, Deps>(options: RunnerOptions<Out, Deps>): RunnerSetup {
  const clock = options.clock ?? systemClock;
  const leaseTtlMs = options.leaseTtlMs ?? 30_000;
  const maxBytes = options.maxBytes ?? MAX_BYTES;
  if (!(Number.isFinite(leaseTtlMs) && leaseTtlMs > 0)) throw notAboveZero("leaseTtlMs", leaseTtlMs);
  if (!(maxBytes > 0)) throw notAboveZero("maxBytes", maxBytes);
  const log = options.log ?? consoleLog;
  const given = readStore(options.store) ?? memoryStore({ clock });
  const store = options.dispatcher === undefined ? given : wakingStore(given, options.dispatcher, log);
  return {
    store,
    clock,
    owner: ownerName(clock.id()),
    leaseTtlMs,
    maxBytes,
    permissions: options.permissions === undefined ? undefined : readPermissions(options.permissions, "runner"),
    unattended: options.unattended ?? false,
    groups: typeof options.groups === "function" ? {} : readGroups(options.groups),
    memberOf: typeof options.groups === "function" ? options.groups : undefined,
    tokenTtlMs: options.tokenTtlMs,
    titles: options.titles ?? true,
    hooks: readHooks(options.hooks),
    start: options.start,
    log,
    late: new LatePost(store, clock, log),
    hot: new HotRoom(options.maxHot ?? MAX_HOT),
  };
}

function notAboveZero(option: string, value: number): BelayError {
  return belayError("OPTION_INVALID", { option, value: String(value), needed: "a number above 0" });
}

function readStore(store: Store | undefined): Store | undefined {
  if (store === undefined || typeof store?.load === "function") return store;
  const given: unknown = store;
  const value = typeof given === "function" ? `the function ${given.name}` : String(given);
  throw belayError("OPTION_INVALID", { option: "store", value, needed: "a store, such as memoryStore() gives" });
}

function readGroups(groups: Groups = {}): Groups {
  for (const [name, members] of Object.entries(groups)) {
    if (Array.isArray(members) && members.every((member) => typeof member === "string")) continue;
    throw belayError("OPTION_INVALID", { option: `groups.${name}`, value: String(members), needed: "a list of ids" });
  }
  return groups;
}
