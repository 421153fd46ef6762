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

/** Returns the refusal of a runner without agents. */
export function agentUnknown(agent = ""): BelayError {
  return belayError("AGENT_UNKNOWN", { agent, known: "" });
}
