// Runs a script on the server, by its hash. A call that breaks on the way is tried again for some seconds, because a script does its
// work once however often it is sent (scripts.ts); the client itself does the same when its connection breaks.

import { belayError } from "../../error.ts";
import { inTime } from "../in-time.ts";
import type { ThreadKey } from "../store.ts";
import type { RedisClient } from "./client.ts";
import { type Script, scripts, VERSION } from "./scripts.ts";
import { asStoreError, damaged, isPassing, isUnknownScript } from "./store-error.ts";

/** A client that cannot connect may keep its commands without end; some drop them with their connection. */
const ANSWER_MS = 2_000;
/** All threads of a tenant are rewritten. */
const MIGRATE_MS = 60_000;
const TRIES_MS = 5_000;
const FIRST_WAIT_MS = 5;
const MOST_WAIT_MS = 250;

/** The first word of an answer names the form of the rest. */
export type Reply = readonly [what: string, ...rest: readonly unknown[]];

/** `key` is the affected thread, if there is one. */
export async function call(
  client: RedisClient,
  name: keyof typeof scripts,
  tenantKey: string,
  args: readonly string[],
  key?: ThreadKey,
): Promise<Reply> {
  const began = performance.now();
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MOST_WAIT_MS)) {
    try {
      const answer = (script: Script) =>
        inTime(run(client, script, tenantKey, args), ANSWER_MS, () => unanswered(client));
      const reply = await answer(scripts[name]);
      if ((reply as Reply)[0] !== "migrate") return readReply(reply, key);
      await inTime(run(client, scripts.migrate, tenantKey, []), MIGRATE_MS, () => unanswered(client));
      return readReply(await answer(scripts[name]), key);
    } catch (error) {
      const over = client.status === "end" || performance.now() - began > TRIES_MS;
      if (over || !isPassing(error)) throw asStoreError(key, error);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function run(client: RedisClient, { sha, text }: Script, key: string, args: readonly string[]): Promise<unknown> {
  try {
    return await client.evalsha(sha, 1, key, ...args);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return client.eval(text, 1, key, ...args);
  }
}

/** The client reports the reason to the listeners of its errors, and not to the caller that waits for an answer. */
function unanswered({ status }: RedisClient): string {
  return `Redis has not answered in time${status === "ready" ? "" : `: its client is ${status}`}.`;
}

function readReply(reply: unknown, key: ThreadKey | undefined): Reply {
  const [what, detail] = reply as [string, unknown];
  if (what === "version") throw belayError("STORE_VERSION", { found: Number(detail), known: VERSION });
  if (what === "damaged") throw damaged(key!, 0, "its row does not fit its checksum");
  return reply as Reply;
}
