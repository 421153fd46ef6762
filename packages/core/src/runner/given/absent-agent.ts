import { type Agent, published } from "../../agent.ts";
import { type BelayError, belayError } from "../../error.ts";

/** The placeholder of a thread's agent in a runner without agents: it has the agent's name, and cannot run. */
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
