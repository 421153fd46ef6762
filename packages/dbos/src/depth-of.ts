// How many wakes wait in the queue, read from the table of DBOS: its client counts only by reading every wake.
import pg from "pg";
import { isGone } from "./keep-up.ts";

/** A timer that is due has waited since its time; DBOS may not have moved it to the others yet. */
const SINCE = "greatest(created_at, delay_until_epoch_ms)";
const IS_DUE = "delay_until_epoch_ms <= (EXTRACT(epoch FROM now()) * 1000)::bigint";

interface Place {
  readonly url: string;
  readonly schema: string;
  readonly queue: string;
}

export async function depthOf({ url, schema, queue }: Place): Promise<{ waiting: number; oldestAt?: number }> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000, query_timeout: 3_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `SELECT count(*)::integer AS waiting, min(${SINCE}) AS oldest FROM "${schema}".workflow_status
        WHERE queue_name = $1 AND (status = 'ENQUEUED' OR (status = 'DELAYED' AND ${IS_DUE}))`,
      [queue],
    );
    const [{ waiting, oldest }] = rows;
    return { waiting, ...(oldest !== null && { oldestAt: Number(oldest) }) };
  } catch (error) {
    // No process has served yet.
    if (isGone(error)) return { waiting: 0 };
    throw error;
  } finally {
    client.end().catch(() => {});
  }
}
