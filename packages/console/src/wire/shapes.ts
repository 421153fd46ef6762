// The bodies that the server sends, as far as the pages read them.

import type {
  Answer,
  Effect,
  Fact,
  HistoryPoint,
  Interrupt,
  Json,
  PauseType,
  Receipt,
  RememberedRule,
  SessionState,
  Usage,
  Verdict,
  Waiting,
} from "@belay/core";

export type { Answer, Effect, Fact, HistoryPoint, Interrupt, Json, Receipt, RememberedRule, Usage, Verdict, Waiting };

export type Role = "viewer" | "operator" | "approver" | "admin";

export interface Me {
  readonly user: string;
  readonly role: Role | readonly Role[];
  readonly groups?: readonly string[];
  readonly tenant?: string;
  /** Set by the demo: the people as whom a visitor may look. */
  readonly demo?: { readonly people: readonly string[] };
}

export interface ThreadRow {
  readonly threadId: string;
  readonly agent: string;
  readonly state: SessionState;
  readonly pauseType?: PauseType;
  readonly title?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly runId?: string;
  readonly open?: number;
  readonly parent?: { readonly threadId: string; readonly seq?: number };
  readonly damaged?: boolean | string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly head?: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

export interface Vote {
  readonly by: string;
  readonly at?: number;
  readonly digest?: string;
}

/** A request that waits for a person. */
export interface Ask extends Omit<Interrupt, "calls"> {
  readonly threadId: string;
  readonly runId?: string;
  readonly approvals?: readonly Vote[];
  readonly title?: string;
  readonly agent?: string;
}

export interface DamagedAsk {
  readonly id: string;
  readonly threadId?: string;
}

export interface Decided {
  readonly how: "approved" | "rejected" | "responded" | "answered" | "expired" | "withdrawn";
  readonly by: string;
  readonly at: number;
  readonly note?: string;
  readonly reason?: string;
  readonly value?: Json;
  readonly args?: Json;
  readonly digest?: string;
}

export interface DecidedAsk extends Ask {
  readonly decided?: Decided;
  readonly how?: Decided["how"];
  readonly decidedBy?: string;
  readonly decidedAt?: number;
}

export interface InboxPage extends Page<Ask> {
  readonly damaged: readonly DamagedAsk[];
  readonly counts?: { readonly open?: number; readonly mine?: number };
}

export interface Look {
  readonly threadId: string;
  readonly state: SessionState;
  readonly pauseType?: PauseType;
  readonly runId?: string;
  readonly segment?: number;
  readonly agent: string;
  readonly title?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly head: number;
  readonly interrupts: readonly (Interrupt & { readonly approvals?: readonly Vote[] })[];
  readonly waiting: readonly Waiting[];
  readonly usage: Usage;
  readonly parent?: { readonly threadId: string; readonly seq?: number };
  readonly forks?: readonly string[];
  readonly owner?: { readonly name: string; readonly until: number };
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly input: Json;
  readonly needsApproval?: boolean | "depends";
  readonly onStop: "abort" | "finish";
  readonly onCrash: "ask" | "retry" | "fail";
  readonly serial?: boolean;
  readonly readOnly: boolean;
  readonly repeatable: boolean;
  readonly destructive: boolean;
  readonly timeoutMs?: number;
  readonly agent?: string;
}

export interface AgentDescription {
  readonly name: string;
  readonly kind: string;
  readonly model?: string;
  readonly tools?: readonly ToolDescription[];
  readonly children?: readonly AgentDescription[];
  readonly instructions?: string;
  readonly output?: Json;
  readonly graph?: GraphShape;
}

export interface GraphShape {
  readonly nodes: readonly { readonly key: string; readonly agent?: string }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly branches: readonly { readonly from: string; readonly to?: readonly string[] }[];
  readonly interruptBefore: readonly { readonly node: string }[];
  readonly interruptAfter: readonly { readonly node: string }[];
}

export interface Checkpoint {
  readonly state: Readonly<Record<string, Json>>;
  readonly inputs: Readonly<Record<string, Json>>;
  readonly beforeNodes: readonly string[];
  readonly afterNodes: readonly string[];
  readonly rerunNodes: readonly { readonly node: string }[];
}
