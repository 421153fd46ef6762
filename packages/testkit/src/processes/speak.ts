// A process whose agents speak slowly, in many threads at once: for readers in other processes.

import { agent, createRunner, type Model } from "@belay/core";
import { openStore } from "./open-store.ts";

export interface Speak {
  readonly where: string;
  readonly threads: readonly string[];
  /** How many words each agent says, and how long it takes for one. */
  readonly words: number;
  readonly everyMs: number;
  readonly leaseTtlMs?: number;
}

export async function speak({ where, threads, words, everyMs, leaseTtlMs }: Speak): Promise<void> {
  const { store, close } = await openStore(where);
  const model: Model = {
    id: "speaker",
    async *stream() {
      for (let i = 0; i < words; i += 1) {
        yield { type: "text", text: `word${i} é👩‍👧 ` };
        await new Promise((over) => setTimeout(over, everyMs));
      }
      yield { type: "finish", finish: "stop", usage: { inputTokens: 1, outputTokens: words } };
    },
  };
  const speaker = agent({ name: "helper", model });
  const runner = createRunner({ agent: speaker, store, ...(leaseTtlMs !== undefined && { leaseTtlMs }) });
  const sessions = await Promise.all(threads.map((threadId) => runner.open(threadId)));
  const runs = sessions.map((session) => session.run("Speak."));
  console.log("began");
  const results = await Promise.all(runs.map(({ result }) => result));
  console.log(`ended ${results.map(({ status }) => status).join(" ")}`);
  await runner.close();
  await close();
}
