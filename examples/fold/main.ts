// A page is a fold of events. It can be reloaded in the middle of an answer, and it survives a restart of the server.
import { mkdtempSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyThread, foldThread, shownMessages, shownState, type ThreadView } from "@belay/client";
import { agent, createRunner, messageText, type Runner } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";

const { DatabaseSync } = await import(isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite");
const folder = mkdtempSync(join(tmpdir(), "belay-example-"));
const file = join(folder, "threads.db");

/** A process that serves the page: an agent, and the file that its threads are in. */
function start() {
  const db = new DatabaseSync(file);
  const model = scriptedModel(({ messages }) =>
    messages.length === 1 ? [{ text: "Tea is " }, { text: "a leaf" }, { stall: true }] : " that was dried.",
  );
  return { db, runner: createRunner({ agent: agent({ name: "guide", model }), store: sqliteStore(db) }) };
}

// region page
/** Draws the thread until it looks as it should. A page has no other state than its view. */
async function page(runner: Runner, enough: (view: ThreadView) => boolean): Promise<ThreadView> {
  let view = emptyThread;
  for await (const event of runner.events("tea")) {
    view = foldThread(view, event);
    if (enough(view)) break;
  }
  return view;
}

function draw(title: string, view: ThreadView): void {
  const { state, pauseType } = shownState(view);
  console.log(`${title}: ${state}${pauseType === undefined ? "" : `, ${pauseType}`}`);
  for (const message of shownMessages(view)) console.log(`  ${message.role}: ${messageText(message)}`);
}
// endregion

const first = start();
const run = await first.runner.run("What is tea?", { id: "tea" });
const said = (view: ThreadView) => view.draft.answers[0]?.text === "Tea is a leaf";
draw("a page in mid-answer", await page(first.runner, said));
draw("the same page, reloaded", await page(first.runner, said));

// The person presses stop. Then the server is restarted.
await first.runner.interrupt("tea");
await run.result;
await first.runner.close();
first.db.close();

const second = start();
draw("after a restart", await page(second.runner, (view) => view.state === "paused"));
await (await second.runner.resume("tea")).result;
draw("resumed there", await page(second.runner, (view) => view.state === "completed"));
await second.runner.close();
second.db.close();
rmSync(folder, { recursive: true });
