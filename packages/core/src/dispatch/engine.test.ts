import { expect, test } from "vitest";
import { memoryStore } from "../index.ts";
import { createWorker } from "./create-worker.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { wakeName } from "./engine.ts";

test("a thread of any name has a wake: also one with half a character, which has no percent-encoding", () => {
  const name = wakeName({ tenant: "a,b", threadId: "t\ud800/ü" }, { id: "x:y", at: 1 });
  expect(name).toBe("a%2Cb,t%EF%BF%BD%2F%C3%BC,x%3Ay,");
});

test("work() ends with an engine that fails to serve, and its sweep ends with it", async () => {
  const store = memoryStore();
  let looks = 0;
  const due: typeof store.due = async (...query) => {
    looks += 1;
    return store.due(...query);
  };
  const dispatcher: Dispatcher = {
    wake: async () => {},
    serve: () => Promise.reject(new Error("The engine is away.")),
    close: async () => {},
  };
  const runner = () => undefined;
  const worker = createWorker({ store: { ...store, due }, runner, dispatcher, sweepMs: 1, log: () => {} });
  await expect(worker.work()).rejects.toThrow("The engine is away.");
  const seen = looks;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(looks).toBe(seen);
});
