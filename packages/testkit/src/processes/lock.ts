// A process that takes the lock of a SQLite file and keeps it until the test releases it.

import { once } from "node:events";
import { openDatabase } from "../stores/open-database.ts";

export async function holdLock({ file }: { readonly file: string }): Promise<void> {
  const db = await openDatabase(file);
  db.exec("BEGIN IMMEDIATE");
  console.log("locked");
  await once(process.stdin, "data");
  db.exec("COMMIT");
  db.close();
  process.exit(0);
}
