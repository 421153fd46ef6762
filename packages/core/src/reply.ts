// One reply of an agent, with what hooks have to say around it. What any agent throws is the end of its reply, not of
// whoever runs it.

import type { Definition, Ended } from "./agent.ts";
import { BelayError, belayError, errorText } from "./error.ts";
import type { Frame } from "./frame.ts";
import { type HookHost, hookFailed, lookOn, runBefore, takeInput } from "./hooks/call-hooks.ts";
import { type Hook, hooksNamed, type ReplyInput } from "./hooks/hooks.ts";

type AnyAgent = Definition;

/** Never rejects. */
export function runReply(agent: AnyAgent, frame: Frame): Promise<Ended> {
  if (!agent.plain) frame.onText = hooksNamed(frame.desk.hooks, agent.hooks, "onText");
  const after = agent.plain ? undefined : hooksNamed(frame.desk.hooks, agent.hooks, "afterReply");
  return after === undefined ? run(agent, frame) : runHooked(agent, frame, after);
}

async function runHooked(agent: AnyAgent, frame: Frame, after: readonly Hook[]): Promise<Ended> {
  for (;;) {
    const ended = await run(agent, frame);
    if (ended.how !== "completed") return ended;
    // What a chat has said is on record before hooks take their time; the end of another agent makes its message itself.
    if (agent.chats && ended.facts.length > 0) await frame.record(() => ended.facts);
    await lookOn(frame, "afterReply", after, { text: ended.text, output: ended.output });
    // The person has said more meanwhile: one more turn, but for one that has left.
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

/** What the hooks make of what an agent is given; undefined where there are none. Rejects with HOOK_FAILED. */
export function inputAfterHooks(agent: AnyAgent, host: HookHost, input: ReplyInput): Promise<ReplyInput> | undefined {
  const hooks = agent.plain ? undefined : hooksNamed(host.desk.hooks, agent.hooks, "beforeReply");
  if (hooks === undefined) return undefined;
  return runBefore(host, "beforeReply", hooks, input, (now) => ({ input: now }), takeInput).then((made) => {
    if ("value" in made || made.messages.length > 0) return made;
    throw hookFailed(host, "beforeReply", "it left nothing of the input");
  });
}
