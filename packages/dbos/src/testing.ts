import type { EngineKit } from "@belay/testkit/engines";
import pg from "pg";

/** DBOS as the tests of this package use it, and the bounds that its README states. */
export const kit: EngineKit = {
  engine: "dbos",
  latenessMs: 2_500,
  takeoverMs: 3_000,
  order: "fair",
  stored: async (settings) => {
    const client = new pg.Client({ connectionString: (settings as { url: string }).url });
    await client.connect();
    const words: string[] = [];
    for (const table of ["workflow_status", "operation_outputs"])
      words.push(JSON.stringify((await client.query(`SELECT row_to_json(t) FROM dbos.${table} t`)).rows));
    await client.end();
    return words.join("\n");
  },
};
