// Tools whose effects a test can count, and threads that wait for people to approve them.

import { type Interrupt, jsonSchema, type Tool, tool } from "@belay/core";
import type { ToolOptions } from "@belay/core/inside";
import { type Kit, type KitOptions, openKit, settle, until } from "./session-kit.ts";

export const amount = jsonSchema<{ n: number }>({
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
});

type PayOptions = Partial<ToolOptions<typeof amount, unknown>>;

/** `pay` needs approval, `look` does not. Each leaves its name and number in `ran`. */
export function paying(more: PayOptions = {}): { readonly ran: string[]; readonly tools: readonly Tool<unknown>[] } {
  const ran: string[] = [];
  const make = (name: string, options: PayOptions) =>
    tool({
      name,
      description: "",
      input: amount,
      execute: ({ n }) => {
        ran.push(`${name} ${n}`);
        return `${name} done`;
      },
      ...options,
    });
  return { ran, tools: [make("pay", { needsApproval: true, ...more }), make("look", {})] };
}

/** One `pay` for each name, with its place as amount, counted from 1. */
export function pays(...ids: readonly string[]) {
  return ids.map((id, i) => ({ call: "pay", id, args: { n: i + 1 } }));
}

/** A thread that waits for as many approvals as there are names. */
export async function waiting(ids: readonly string[], options: KitOptions): Promise<Kit> {
  const kit = await openKit([pays(...ids), "done", "more", "and more"], options);
  await kit.session.run("go").result;
  return kit;
}

/** The open request about a call. */
export function requestOf({ session }: Pick<Kit, "session">, callId: string): Interrupt {
  const found = session.interrupts.find((interrupt) => interrupt.callId === callId && interrupt.kind !== "user");
  if (found === undefined) throw new Error(`Nobody asks about ${callId}.`);
  return found;
}

/** Whether it has happened by now, or soon does. */
export async function happens(ran: readonly string[], ...effects: readonly string[]): Promise<void> {
  await until(() => effects.every((effect) => ran.includes(effect)));
  await settle();
}
