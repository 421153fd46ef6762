// One process of a service, for tests that start several and kill them: a server with a worker inside, a front that
// leaves every run to workers, or a worker alone. Its tool leaves a line in a file that survives the process.

import { appendFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { agent, createRunner, humanApproval, jsonSchema, type Model, messageText, tool } from "@belay/core";
import { openStore } from "@belay/testkit/processes";
import { createAdaptorServer } from "@hono/node-server";
import { belayServer } from "../server.ts";

interface ServingOptions {
  readonly role: "server" | "front" | "worker";
  readonly where: string;
  /** The file of effects. */
  readonly effects: string;
  readonly port: number;
  readonly token: string;
  readonly leaseTtlMs?: number | undefined;
}

const input = jsonSchema<object>({ type: "object" });

/** Pays or notes as it is asked, counts for as long as it is let, and else speaks slowly for a second. */
const model: Model = {
  id: "slow",
  async *stream({ messages }, { signal }) {
    const last = messages.at(-1)!;
    const asked = messageText(last);
    if (last.role === "user" && /^(?:pay|note)$/.test(asked)) {
      yield { type: "call", id: `${asked}-${messages.length}`, tool: asked, args: {} };
      yield { type: "finish", finish: "tool-calls" };
      return;
    }
    // Long enough for a busy machine to stop it in time; nothing waits for its end.
    const pieces = asked === "count" ? 400 : 40;
    for (let i = 0; i < pieces && !signal.aborted; i++) {
      yield { type: "text", text: `${i} ` };
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    yield { type: "finish", finish: "stop" };
  },
};

async function serveForTests(options: ServingOptions): Promise<void> {
  const { role, where, effects, port, token, leaseTtlMs } = options;
  const { store } = await openStore(where);
  const doing = (name: string) => ({
    name,
    description: "Leaves a line.",
    input,
    execute: () => {
      appendFileSync(effects, `${name}\n`);
      return "done";
    },
  });
  const tools = [tool({ ...doing("pay"), needsApproval: () => humanApproval("Pay?") }), tool(doing("note"))];
  const runner = createRunner({
    agent: agent({ name: "guide", model, tools }),
    store,
    ...(leaseTtlMs !== undefined && { leaseTtlMs }),
    ...(role === "front" && { start: "worker" }),
  });
  if (role === "worker") {
    console.log("works");
    return runner.work({ concurrency: 4 });
  }
  const server = belayServer({ runner, token, ...(role === "front" && { work: false }) });
  const http = createAdaptorServer({ fetch: server.fetch });
  http.listen(port, "127.0.0.1", () => console.log(`serves ${(http.address() as AddressInfo).port}`));
}

await serveForTests(JSON.parse(process.argv[3]!));
