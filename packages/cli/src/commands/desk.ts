// The parts of a command that only reads and sends: the threads, without a model and without tools. Nothing runs here.

import { agent, createRunner, type Model, type Runner } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { dataFolderOf } from "../data/folders.ts";
import { openDatabase } from "../data/open-database.ts";
import { AGENT } from "../setup.ts";

export interface Desk {
  readonly runner: Runner;
  readonly dataFolder: string;
  close(): Promise<void>;
}

const silent: Model = {
  id: "none",
  // biome-ignore lint/correctness/useYield: it is never asked.
  async *stream() {
    throw new Error("Nothing runs here.");
  },
};

export async function openDesk(options: { readonly dataFolder?: string }): Promise<Desk> {
  const dataFolder = dataFolderOf(options.dataFolder);
  const db = await openDatabase(dataFolder);
  // The commands report what the log would report.
  const log = () => {};
  const runner = createRunner({ agent: agent({ name: AGENT, model: silent }), store: sqliteStore(db), log });
  return {
    runner,
    dataFolder,
    async close() {
      await runner.close();
      db.close();
    },
  };
}
