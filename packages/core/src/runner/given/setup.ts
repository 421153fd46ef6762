import type { Clock } from "../../clock.ts";
import type { HookTable } from "../../hooks/hooks.ts";
import type { Groups } from "../../interrupt/decision.ts";
import type { MemberOf } from "../../interrupt/vouched.ts";
import type { Log } from "../../log.ts";
import type { CheckedPermissions } from "../../permission/permissions.ts";
import type { Store } from "../../store/store.ts";

/** `here`: the process that receives a command. `worker`: one that calls work(). */
export type Where = "here" | "worker";

/** The options of a runner, checked: the same for all of its threads. */
export interface Setup {
  readonly store: Store;
  readonly clock: Clock;
  /** The name under which this runner holds leases: unique for each runner. */
  readonly owner: string;
  readonly leaseTtlMs: number;
  /** The most bytes of JSON that one input, or one result of a tool, may take. */
  readonly maxBytes: number;
  readonly permissions: CheckedPermissions | undefined;
  /** No person can be asked: a call that would ask is denied. */
  readonly unattended: boolean;
  readonly groups: Groups;
  /** Says whether a person belongs to a group, if `groups` is a function. */
  readonly memberOf: MemberOf | undefined;
  /** The time that the token of a pause is valid; without it, no end. */
  readonly tokenTtlMs: number | undefined;
  /** The first input of a thread makes its title. */
  readonly titles: boolean;
  readonly hooks: HookTable | undefined;
  readonly log: Log;
  /** The process that starts inputs and runs approved calls, unless a verb says otherwise; undefined if the runner does not say. */
  readonly start: Where | undefined;
}
