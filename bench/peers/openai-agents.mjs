import { Agent, MemorySession, Runner, RunState, setTracingDisabled, tool, Usage } from "@openai/agents";
import { z } from "zod";
import { plan, work } from "./script.mjs";

setTracingDisabled(true);

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("");
const rowsOf = (items) =>
  (typeof items === "string" ? [{ role: "user", content: items }] : items).map((item) => ({
    role: item.role ?? (item.type === "function_call_result" ? "tool" : "assistant"),
    text: textOf(item.content),
    calls: item.type === "function_call" ? [item.callId] : [],
    results: item.type === "function_call_result" ? [item.callId] : [],
  }));

const model = {
  async getResponse(request) {
    for await (const event of this.getStreamedResponse(request))
      if (event.type === "response_done") return { ...event.response, usage: new Usage(event.response.usage) };
    throw new Error("The stream had no end.");
  },
  async *getStreamedResponse({ input, signal }) {
    const next = plan(rowsOf(input));
    let output;
    if (next.call) {
      const callId = `call_${input.length}`;
      const args = JSON.stringify(next.args);
      output = { type: "function_call", callId, name: next.call, arguments: args, status: "completed" };
    } else {
      let text = "";
      for await (const delta of next.words(signal)) {
        text += delta;
        yield { type: "output_text_delta", delta };
      }
      output = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
    }
    const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    yield { type: "response_done", response: { id: "1", usage, output: [output] } };
  },
};

export function open({ file, approval = false } = {}) {
  if (file) throw new Error("the package has sessions in memory only");
  const parameters = z.object({ text: z.string().nullable().default(null) });
  const tools = Object.entries(work).map(([name, execute]) =>
    tool({ name, description: name, parameters, execute, needsApproval: approval && name === "pay" }),
  );
  const agent = new Agent({ name: "a", model, tools });
  const runner = new Runner({ tracingDisabled: true });
  const sessions = new Map();
  const session = (id) => sessions.get(id) ?? sessions.set(id, new MemorySession({ sessionId: id })).get(id);
  return {
    agent,
    runner,
    async say(id, text, { signal, onText } = {}) {
      const options = { session: session(id), maxTurns: 1000, signal };
      try {
        if (onText === undefined) await runner.run(agent, text, options);
        else {
          const result = await runner.run(agent, text, { ...options, stream: true });
          for await (const delta of result.toTextStream()) onText(delta);
          await result.completed;
        }
        return signal?.aborted ? "stopped" : "completed";
      } catch (error) {
        if (signal?.aborted) return "stopped";
        throw error;
      }
    },
    history: async (id) => rowsOf(await session(id).getItems()),
  };
}

/** Two programs load the same serialised state. */
export async function race() {
  const { agent, runner } = open({ approval: true });
  const paused = await runner.run(agent, "pay");
  const text = paused.state.toString();
  const both = [0, 1].map(async () => {
    const state = await RunState.fromString(agent, text);
    state.approve(state.getInterruptions()[0]);
    await runner.run(agent, state);
    return "completed";
  });
  return (await Promise.allSettled(both)).map(({ value, reason }) => value ?? reason.message);
}
