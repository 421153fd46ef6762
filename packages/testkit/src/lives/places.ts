// The store of a life.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, memoryStore, type Store } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { openDatabase } from "../stores/open-database.ts";

export interface Places {
  /** For one process. */
  connect(): Store;
  close(): void;
}

/** No life is so long that more processes begin. */
const MOST_OPENED = 64;

async function oneMemory(clock: Clock): Promise<Places> {
  const store = memoryStore({ clock });
  return { connect: () => store, close: () => {} };
}

/** Each process has its own connection. */
async function oneFile(clock: Clock): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), "belay-life-"));
  // Opening takes its time, and a life does not wait for it.
  const spare = await Promise.all(Array.from({ length: MOST_OPENED }, () => openDatabase(join(folder, "db"))));
  const opened = [...spare];
  for (const db of opened) db.exec("PRAGMA synchronous = OFF");
  return {
    connect: () => sqliteStore(spare.pop()!, { clock, pollMs: 25 }),
    close: () => {
      for (const db of opened) db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const placesOf = { memory: oneMemory, sqlite: oneFile };
