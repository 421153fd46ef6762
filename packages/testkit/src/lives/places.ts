// The store of a life.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, memoryStore, type Store } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { type Database, databaseOpener } from "../stores/open-database.ts";

export interface Places {
  /** For one process. */
  connect(): Store;
  close(): void;
}

async function oneMemory(clock: Clock): Promise<Places> {
  const store = memoryStore({ clock });
  return { connect: () => store, close: () => {} };
}

/** Each process has its own connection. */
async function oneFile(clock: Clock): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), "belay-life-"));
  const open = await databaseOpener();
  const opened: Database[] = [];
  return {
    connect: () => {
      const db = open(join(folder, "db"));
      opened.push(db);
      const store = sqliteStore(db, { clock, pollMs: 25 });
      // A life has no power cut. The store itself has set it to FULL.
      db.exec("PRAGMA synchronous = OFF");
      return store;
    },
    close: () => {
      for (const db of opened) db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const placesOf = { memory: oneMemory, sqlite: oneFile };
