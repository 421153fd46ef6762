// For tests only: the app with two tools that ignore their signals: a stop leaves one behind, and waits for the other.
// Only the file that they wait for ends them.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, createRunner, jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { runApp } from "../app/main.tsx";
import { openDatabase } from "../data/open-database.ts";
import { chooseModel } from "../model/choose.ts";
import type { BelaySetup } from "../setup.ts";

const deaf = (name: string, onStop: "abort" | "finish") =>
  tool({
    name,
    onStop,
    description: "Waits until the file is there.",
    input: jsonSchema<{ file: string }>({
      type: "object",
      properties: { file: { type: "string" } },
      required: ["file"],
    }),
    readOnly: true,
    async execute({ file }) {
      while (!existsSync(join(process.cwd(), file))) await sleep(10);
      return "I heard nothing, and I am done.";
    },
  });

const baseUrl = process.argv[process.argv.indexOf("--base-url") + 1]!;
const dataFolder = process.env.BELAY_DATA!;
const { model, name: modelName, demo } = await chooseModel({ baseUrl, model: "test" });
const guide = agent({ name: "belay", model, tools: [deaf("deaf", "abort"), deaf("stubborn", "finish")] });
const runner = createRunner({ agent: guide, store: sqliteStore(await openDatabase(dataFolder)) });
const folder = process.cwd();
const setup: BelaySetup = {
  runner,
  agent: guide,
  modelName,
  demo,
  contextTokens: undefined,
  guides: [],
  compactNext: () => {},
  folder,
  dataFolder,
  configFolder: folder,
  warnings: [],
  servers: undefined,
  openThread: (threadId) => runner.open(threadId),
  forkThread: (threadId, options) => runner.fork(threadId, options ?? { at: 0 }),
  setMode: () => {},
  remember: () => undefined,
  previewOf: () => undefined,
  close: () => runner.close(),
};
process.exit(await runApp(setup));
