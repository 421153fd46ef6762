// For tests only: reads the output and the requests of the program.

import { expect } from "vitest";
import type { Home } from "./processes.ts";

export const jsonLines = (text: string) =>
  text.trim() === ""
    ? []
    : text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Runs until a person is needed, and returns the requests. */
export async function asked(home: Home, prompt: string): Promise<{ threadId: string; ids: string[] }> {
  const { code, stdout } = await home.belay(["-p", prompt, "--ask", "pause", "--output-format", "json"]);
  expect(code).toBe(3);
  const [result] = jsonLines(stdout) as [{ threadId: string; interrupts: { id: string }[] }];
  return { threadId: result.threadId, ids: result.interrupts.map(({ id }) => id) };
}

export const goOn = async (home: Home, threadId: string) => (await home.belay(["-p", "--resume", threadId])).stdout;
