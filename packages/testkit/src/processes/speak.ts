// A process whose agents speak slowly, in many threads at once: for readers in other processes. At its end it prints the view
// of its own reader of the first thread, and how many bodies it has relayed.

import { emptyThread, foldThread } from "@belay/client";
import { agent, createRunner, type Model, type Store } from "@belay/core";
import { wrapStore } from "@belay/core/inside";
import { listen } from "../session/session-kit.ts";
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
  const { store: opened, close } = await openStore(where);
  let relayed = 0;
  const relay: Store["relay"] = (key, side, heard) => {
    const line = opened.relay?.(key, side, heard);
    if (line === undefined || side === "reader") return line;
    const say = (body: string) => {
      relayed += 1;
      line.say(body);
    };
    return { say, leave: () => line.leave() };
  };
  const store = wrapStore(opened, { relay });
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
  const here = listen(sessions[0]!.events());
  const runs = sessions.map((session) => session.run("Speak."));
  console.log("began");
  const results = await Promise.all(runs.map(({ result }) => result));
  console.log(`ended ${results.map(({ status }) => status).join(" ")}`);
  await runner.close();
  await here.all;
  const { draft: _draft, ...view } = here.events.reduce(foldThread, emptyThread);
  console.log(`view ${JSON.stringify(view)}`);
  console.log(`relayed ${relayed}`);
  await close();
}
