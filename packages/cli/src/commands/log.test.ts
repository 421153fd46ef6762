import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRunner, END, graph, rerun, START } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { afterAll, expect, test } from "vitest";
import { openDatabase } from "../data/open-database.ts";
import { AGENT } from "../setup.ts";
import { textsFor } from "../texts/texts.ts";
import { log } from "./log.ts";

const data = mkdtempSync(join(tmpdir(), "belay-log-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

async function told(thread: string, lang: string): Promise<string[]> {
  let written = "";
  const stdout = { write: (text: string) => (written += text) };
  await log({ dataFolder: data, thread }, { stdout, stderr: stdout, columns: 200, texts: textsFor(lang) });
  return written.split("\n").map((line) => line.trim().replace(/^\S+ s +/, ""));
}

test("G1: a stop at a node is a stop, with the node, and no request", async () => {
  const db = await openDatabase(data);
  let tried = 0;
  const steps = graph<object, string, string>(AGENT)
    .node("look", (input: string) => input)
    .node("act", (input: string) => {
      if (tried++ === 0) throw rerun();
      return input;
    })
    .edge(START, "look")
    .edge("look", "act")
    .edge("act", END)
    .compile({ interruptBefore: ["act"], interruptAfter: ["look"] });
  const runner = createRunner({ agent: steps, store: sqliteStore(db) });
  const session = await runner.open("stops");
  await session.run("go").result;
  for (let rounds = 0; session.state === "paused" && rounds < 5; rounds++) await session.resume().result;
  expect(session.state).toBe("completed");
  await runner.close();
  db.close();
  const stops = (lines: readonly string[], who: string) => lines.filter((line) => line.startsWith(who));
  const lines = await told("stops", "en");
  expect(stops(lines, "stop")).toEqual([
    `stop       by ${AGENT}: after look`,
    `stop       by ${AGENT}: before act`,
    `stop       by ${AGENT}: act asks to run again`,
  ]);
  expect(stops(lines, "request")).toEqual([]);
  expect(stops(await told("stops", "zh"), "停止")).toEqual([
    `停止       由 ${AGENT}: look 之后`,
    `停止       由 ${AGENT}: act 之前`,
    `停止       由 ${AGENT}: act 要求再次执行`,
  ]);
});
