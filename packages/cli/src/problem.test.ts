// Errors of the runtime, made by real runs, in the words of this program.
import { type AgentOptions, agent, type BelayError, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { forPeople, peopleWords } from "./problem.ts";
import { en } from "./texts/en.ts";
import { zh } from "./texts/zh.ts";
import { listTool } from "./tools/list.ts";

type Turns = Parameters<typeof scriptedModel>[0];

async function failure(turns: Turns, options: Partial<AgentOptions<undefined, unknown>> = {}): Promise<BelayError> {
  const model = scriptedModel(turns, { id: "anthropic/claude-x" });
  const settings = { retry: { attempts: 2, delayMs: 0 } };
  const session = await createRunner({ agent: agent({ name: "belay", model, settings, ...options }) }).open();
  const result = await session.run("go").result;
  if (result.status !== "failed") throw new Error(`it ended ${result.status}`);
  return result.error;
}

const thrown = (message: string, fields: object): Turns => {
  const turn = [{ throw: Object.assign(new Error(message), fields) }];
  return [turn, turn];
};
const look = listTool("/", async () => ({ effect: "allow" }) as never);
const url = "https://api.test/v1/messages?key=secret";

const failures: readonly (readonly [string, () => Promise<BelayError>, string])[] = [
  [
    "401 names the variable",
    () => failure(thrown("invalid x-api-key", { statusCode: 401, url })),
    "The key in ANTHROPIC_API_KEY was refused for anthropic/claude-x (401): invalid x-api-key.",
  ],
  [
    "404 names the URL and the model, without a key in the URL",
    () => failure(thrown("Not found.", { statusCode: 404, url })),
    "There is no model anthropic/claude-x at https://api.test/v1/messages (404): Not found.",
  ],
  [
    "a busy server",
    () => failure(thrown("Overloaded", { statusCode: 529 })),
    "The model anthropic/claude-x failed 2 times: Overloaded (529).",
  ],
  [
    "a broken connection",
    () => failure(thrown("socket hang up", {})),
    "The model anthropic/claude-x failed 2 times: socket hang up.",
  ],
  [
    "a silent model",
    () => failure([[{ stall: true }], [{ stall: true }]], { timeouts: { idleMs: 20 } }),
    "The model anthropic/claude-x said nothing for 0 s.",
  ],
  [
    "an answer that was cut",
    () => failure([[{ text: "Half" }, { finish: "length" }]]),
    "The answer was cut at the output limit of the model.",
  ],
  [
    "a limit of turns",
    () => failure([[{ call: "list", args: {} }], "never"], { maxTurns: 1, tools: [look] as never }),
    "1 turn used",
  ],
  [
    "a full context",
    () => failure(thrown("prompt is too long: 9 tokens > 8", { statusCode: 400 })),
    "The thread does not fit the context of the model: prompt is too long: 9 tokens > 8 (status 400).",
  ],
];

describe("a failure of the model, for people", () => {
  test.each(failures)("%s", async (_, make, words) => {
    const error = await make();
    // A journal keeps code and words only.
    const { code, message, hint } = error;
    expect(peopleWords({ code, message, hint }, en)[0]).toBe(words);
    for (const texts of [en, zh]) {
      const said = peopleWords({ code, message, hint }, texts).join(" ");
      expect(said).not.toMatch(/\w\(|maxTurns|settings|runner|session/);
      if (texts === zh) expect(said).toMatch(/[\u4e00-\u9fff]/);
    }
  });

  test("a hint for programs is left out, one for people is not", () => {
    const error = { code: "OTHER", message: "It broke.", hint: "Open it with runner.open(threadId)." };
    expect(peopleWords(error, en)).toEqual(["It broke."]);
    expect(peopleWords({ ...error, hint: "Look at the file." }, en)).toEqual(["It broke.", "Look at the file."]);
  });

  test("a thread that this program itself holds is not said to run in another terminal", () => {
    const busy = { code: "THREAD_BUSY", details: { threadId: "t", owner: "me" } };
    expect(forPeople(busy, "me")?.code).toBe("THREAD_UNSAVED");
    expect(forPeople(busy, "other")?.code).toBe("THREAD_ELSEWHERE");
  });
});
