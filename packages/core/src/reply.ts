// Runs one reply of an agent and the hooks around it. An error that the agent throws ends its reply; it does not reach
// the caller.

import type { Definition, Ended } from "./agent.ts";
import { BelayError, belayError, errorText } from "./error.ts";
import type { Frame } from "./frame.ts";
import { type HookHost, hookFailed, lookOn, runBefore, takeInput } from "./hooks/call-hooks.ts";
import { type Hook, hooksNamed, type ReplyInput } from "./hooks/hooks.ts";

type AnyAgent = Definition;

/** Runs one reply. Never rejects. */
export function runReply(agent: AnyAgent, frame: Frame): Promise<Ended> {
  if (!agent.plain) frame.onText = hooksNamed(frame.desk.hooks, agent.hooks, "onText");
  const after = agent.plain ? undefined : hooksNamed(frame.desk.hooks, agent.hooks, "afterReply");
  return after === undefined ? run(agent, frame) : runHooked(agent, frame, after);
}

async function runHooked(agent: AnyAgent, frame: Frame, after: readonly Hook[]): Promise<Ended> {
  for (;;) {
    const ended = await run(agent, frame);
    if (ended.how !== "completed") return ended;
    // Record the text of a chat before the hooks run. Any other agent records its message with its end.
    if (agent.chats && ended.facts.length > 0) await frame.record(() => ended.facts);
    await lookOn(frame, "afterReply", after, { text: ended.text, output: ended.output });
    // A steer arrived in the meantime: take one more turn, unless the agent has left the run.
    const more =
      agent.chats &&
      ended.action === undefined &&
      frame.signal.stop === undefined &&
      frame.desk.hasMail(frame, "steer");
    if (!more) return agent.chats ? { ...ended, facts: [] } : ended;
    if (ended.turn !== undefined) frame.speaker.turnEnd(ended.turn);
  }
}

async function run(agent: AnyAgent, frame: Frame): Promise<Ended> {
  try {
    return await agent.run(frame);
  } catch (error) {
    const failure =
      error instanceof BelayError
        ? error
        : belayError("AGENT_FAILED", { agent: agent.name, reason: errorText(error) }, error);
    return { how: "failed", facts: [], error: failure };
  }
}

/** Returns the input of an agent after its hooks; undefined if it has none. Rejects with HOOK_FAILED. */
export function inputAfterHooks(agent: AnyAgent, host: HookHost, input: ReplyInput): Promise<ReplyInput> | undefined {
  const hooks = agent.plain ? undefined : hooksNamed(host.desk.hooks, agent.hooks, "beforeReply");
  if (hooks === undefined) return undefined;
  return runBefore(host, "beforeReply", hooks, input, (now) => ({ input: now }), takeInput).then((made) => {
    if ("value" in made || made.messages.length > 0) return made;
    throw hookFailed(host, "beforeReply", "it left nothing of the input");
  });
}
