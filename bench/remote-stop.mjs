// The time of a stop from another process. One process runs a thread in a SQLite file, another has only
// the file: from runner.interrupt() there to its receipt. The owner's model streams until it is stopped.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "@belay/core/sqlite";
import { DatabaseSync, inFolder } from "./sqlite.mjs";
import { answerStops, talkWhenTold } from "./stop-elsewhere.mjs";

if (process.argv[2] === "owner") {
  await talkWhenTold(sqliteStore(new DatabaseSync(process.argv[3])));
} else {
  await inFolder(async (folder) => {
    const path = join(folder, "threads.db");
    const db = new DatabaseSync(path);
    const owner = [fileURLToPath(import.meta.url), "owner", path];
    await answerStops(sqliteStore(db), { owner, warmup: 10, target: 50 });
    db.close();
  });
}
