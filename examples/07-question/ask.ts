// The process that is asked to book. Its tool asks back; the process ends, and nothing waits anywhere but in the file.
import { open } from "./move.ts";

const { runner, db, say } = open(process.argv[2]!);
const run = await runner.run("Book movers for the first of May.");
const result = await run.result;
say(result.status);
await runner.close();
db.close();
