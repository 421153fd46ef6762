import { type Agent, published } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";

/** Stands for the agent of a thread in a runner without agents: it names the thread's agent, and runs nothing. */
export function absentAgent(name: string): Agent {
  const unknown = () => Promise.reject(agentUnknown(name));
  return published({
    name,
    absent: true,
    repair: "synthetic",
    chats: true,
    children: [],
    run: unknown,
    fingerprint: () => ({}),
    describe: () => {
      throw agentUnknown(name);
    },
    argsProblem: async () => undefined,
    verdict: unknown,
  });
}

export function agentUnknown(agent: string): BelayError {
  return belayError("AGENT_UNKNOWN", { agent, known: "none: this runner was made without agents" });
}
