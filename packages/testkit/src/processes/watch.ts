// A process with no work left but a watch in the background: it ends. Before its end it receives a command that it sends to itself,
// through another store with only one connection.

import { postgresStore } from "@belay/core/postgres";
import { openPool } from "../stores/open-pool.ts";

export interface Watch {
  readonly where: string;
  readonly tenant: string;
  readonly threadId: string;
}

export async function watch({ where, tenant, threadId }: Watch): Promise<void> {
  const url = new URL(where);
  const schema = url.hash.slice(1);
  url.hash = "";
  const key = { tenant, threadId };
  const single = await openPool({ url: url.href, max: 1 });
  const listening = postgresStore(single, { schema });
  const heard = new Promise<void>((resolve) => {
    const leave = listening.watch(key, (what) => {
      console.log(`heard ${what ?? "something"}`);
      leave();
      resolve();
    });
  });
  const pool = await openPool({ url: url.href, allowExitOnIdle: true });
  const store = postgresStore(pool, { schema });
  await store.send(key, { key: `k${process.pid}`, kind: "steer", body: "", at: 1 });
  await heard;
  console.log("heard");
  await single.end();
  store.watch(key, () => {}, undefined, true);
}
