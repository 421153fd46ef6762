// A yes to a difference is a yes to that difference. The digest of the compared text is part of the request; the file must have
// that text when the call runs, or the person is shown the new difference first. A call that a mode or a rule allowed, and that
// runs when neither holds any more, is shown as well.

import { createHash } from "node:crypto";
import { type Approval, type Fact, humanApproval, type Json, type Request, type ToolContext } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { problem } from "../problem.ts";
import { approvalUnlessAllowed } from "./approval.ts";
import { unifiedDiff } from "./diff.ts";

/** The present and the future text of a file. */
export interface Change {
  readonly shown: string;
  /** Undefined if there is no file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** A call that changes a file. */
export interface ChangingCall<C extends Change> {
  readonly tool: "edit" | "write";
  readonly args: object;
  readonly ctx: ToolContext;
  look(): Promise<C>;
}

/** The facts of a thread, from its journal: a call may run in another process than the one that asked. */
export type ReadFacts = (threadId: string) => Promise<readonly Fact[]>;

/** Replaces the digest of a text that no person has seen. */
const UNASKED = "unasked";
/** Stands before the difference that was shown, in place of a digest. */
const DIFF = "diff ";

/** The shown state of a call: the digest of the text, and how often the difference was shown again. */
interface Seen {
  readonly base: string;
  readonly rounds: number;
}

export class SeenTexts {
  readonly #judge: Judge;
  readonly #facts: ReadFacts;
  /** By the address of the call, of calls that have not ended. */
  readonly #seen = new Map<string, Seen>();

  constructor(judge: Judge, facts: ReadFacts) {
    this.#judge = judge;
    this.#facts = facts;
  }

  /** What `needsApproval` gives for the call. */
  async asks<C extends Change>({ tool, args, ctx, look }: ChangingCall<C>): Promise<boolean | Request<Approval>> {
    this.#seen.set(keyOf(ctx), { base: UNASKED, rounds: 0 });
    return approvalUnlessAllowed(this.#judge, tool, args, async () => {
      const { reason, context } = shownOf(await look(), tool);
      this.#seen.set(keyOf(ctx), { base: context.base, rounds: 0 });
      return { reason, context };
    });
  }

  /**
   * Reads the file until it has the text that the person has approved, and returns that text. Throws `FILE_CHANGED` if the
   * person rejects the new difference.
   */
  async approved<C extends Change>(call: ChangingCall<C>): Promise<C> {
    const { ctx, tool } = call;
    const first = await this.#of(ctx);
    let { base } = first;
    for (let round = 1; ; round += 1) {
      const change = await call.look();
      // The earlier effect of this call is on record, and it does the same again.
      if (round > first.rounds && (await this.#holds(call, base, change))) {
        this.#seen.delete(keyOf(ctx));
        return change;
      }
      const asked = base === UNASKED;
      const shown = await ctx.step(`diff#${round}`, () => shownOf(change, asked ? tool : "changed"));
      this.#seen.set(keyOf(ctx), { base: first.base, rounds: Math.max(first.rounds, round) });
      const { approved, note = "" } = await ctx.ask(humanApproval(shown.reason, { context: shown.context }), {
        key: `changed#${round}`,
      });
      if (!approved) throw problem("FILE_CHANGED", { path: shown.context.path, why: note });
      base = shown.context.base;
    }
  }

  async #holds({ tool, args }: ChangingCall<Change>, base: string, change: Change): Promise<boolean> {
    if (base.startsWith(DIFF)) return base === DIFF + diffOf(change);
    if (base !== UNASKED) return base === baseOf(change.before);
    return (await this.#judge(tool, args as Json)).effect === "allow";
  }

  async #of(ctx: ToolContext): Promise<Seen> {
    return this.#seen.get(keyOf(ctx)) ?? seenIn(ctx.address, await this.#facts(ctx.threadId));
  }
}

function keyOf({ threadId, address }: ToolContext): string {
  return `${threadId} ${address}`;
}

function shownOf(change: Change, why: "edit" | "write" | "changed") {
  const context = { path: change.shown, diff: diffOf(change), base: baseOf(change.before) };
  return { reason: wordsOf(change, why), context };
}

function diffOf({ shown, before, after }: Change): string {
  return unifiedDiff(shown, before, after);
}

function wordsOf({ shown, before }: Change, why: "edit" | "write" | "changed"): string {
  if (why === "changed") return `${shown} has changed since you saw it. Change it like this?`;
  return `${why === "edit" ? "Edit" : before === undefined ? "Create" : "Replace"} ${shown}?`;
}

function baseOf(text: string | undefined): string {
  return text === undefined ? "none" : createHash("sha256").update(text).digest("hex");
}

/** From the record of a call. Releases that recorded no digest have recorded the difference. */
function seenIn(address: string, facts: readonly Fact[]): Seen {
  let base = UNASKED;
  let rounds = 0;
  for (const fact of facts) {
    if (fact.type === "step" && fact.address.startsWith(`${address}/s:diff#`)) rounds += 1;
    const asked = fact.type === "action" ? fact.action.interrupted : undefined;
    if (asked?.address !== `${address}/approval`) continue;
    const { base: digest, diff = "" } = (asked.context ?? {}) as { readonly base?: Json; readonly diff?: Json };
    base = typeof digest === "string" ? digest : `${DIFF}${diff}`;
  }
  return { base, rounds };
}
