// Servers as processes: one that is killed in mid-run, and fronts that share a store with a worker.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  approve,
  connect,
  emptyThread,
  foldThread,
  isThreadEvent,
  shownMessages,
  type ThreadView,
} from "@belay/client";
import { type Child, type Place, postgresServer, sqliteFiles, startChild } from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { bundledProgram } from "./testing/bundled-program.ts";

const token = "a-token-for-all-of-them";
let program: string;
const children: Child[] = [];
let folder: string;
let where: string;

beforeAll(async () => {
  program = await bundledProgram("serving");
});

async function started(place: Place, role: "server" | "front" | "worker", port = 0) {
  const { leaseTtlMs } = place;
  const child = startChild(program, "serve", { role, where, effects: effectsFile(), port, token, leaseTtlMs });
  children.push(child);
  const line = await child.said(role === "worker" ? "works" : "serves");
  const own = Number(line.split(" ")[1]);
  return { child, port: own, belay: connect({ url: `http://127.0.0.1:${own}`, token }) };
}

const effectsFile = () => join(folder, "effects");
const effects = () => readFileSync(effectsFile(), "utf8").split("\n").filter(Boolean);
const textOf = (view: ThreadView) =>
  shownMessages(view).map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));

/** Follows a thread, and keeps its view. */
function following(belay: ReturnType<typeof connect>, threadId: string) {
  const gone = new AbortController();
  const seen = { view: emptyThread, seqs: [] as number[], lost: 0, stop: () => gone.abort() };
  const read = async () => {
    for await (const event of belay.open(threadId).events({ signal: gone.signal })) {
      if (isThreadEvent(event)) {
        if (event.seq > seen.view.head) seen.seqs.push(event.seq);
        seen.view = foldThread(seen.view, event);
      } else if (event.type === "connection" && event.state === "lost") seen.lost++;
    }
  };
  void read();
  return seen;
}

describe.each([sqliteFiles, postgresServer])("on $name", (place) => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "belay-servers-"));
    where = await place.at(folder);
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.signal("SIGKILL");
      await child.exited;
    }
    await place.remove(where);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  test("a server killed in mid-run is followed by another: readers reconnect, the run continues, nothing is doubled", async () => {
    const first = await started(place, "server");
    const run = await first.belay.open("t").run("note");
    const seen = following(first.belay, "t");
    await expect.poll(() => textOf(seen.view).at(-1)).toMatch(/^0 1 2 /);
    first.child.signal("SIGKILL");
    await first.child.exited;
    const second = await started(place, "server", first.port);
    await expect.poll(() => seen.view.state).toBe("completed");
    expect(seen.lost).toBeGreaterThan(0);
    expect(effects()).toEqual(["note"]);
    const { items, head } = await second.belay.open("t").facts({ limit: 1000 });
    expect(items.filter(({ type }) => type === "run-end")).toMatchObject([{ runId: run.runId, status: "completed" }]);
    expect(items.filter(({ type }) => type === "tool-end")).toHaveLength(1);
    expect(seen.seqs).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    expect({ ...seen.view, draft: 0 }).toEqual({ ...items.reduce(foldThread, emptyThread), draft: 0 });
    seen.stop();
  });

  test("two fronts and one worker: stop, steer, answer and text work from either front", async () => {
    await started(place, "worker");
    const fronts = [await started(place, "front"), await started(place, "front")].map(({ belay }) => belay);
    const [a, b] = fronts as [(typeof fronts)[0], (typeof fronts)[0]];
    for (const [one, two] of [
      [a, b],
      [b, a],
    ] as const) {
      const id = one === a ? "from-a" : "from-b";
      const run = await one.run("count", { threadId: id });
      const views = [following(one, id), following(two, id)];
      for (const seen of views) await expect.poll(() => textOf(seen.view).at(-1)).toMatch(/0 1 2 /);
      await two.open(id).steer("shorter");
      expect(await two.open(id).waiting()).toMatchObject([{ kind: "steer" }]);
      const receipt = await two.open(id).interrupt({ reason: "enough" });
      expect(receipt).toMatchObject({ accepted: true, runId: run.runId });
      expect(receipt.partialText).toMatch(/^0 1 2 /);
      for (const seen of views) await expect.poll(() => seen.view.pauseType).toBe("user_interrupt");
      await one.open(id).resume({ input: "pay" });
      await expect.poll(async () => (await two.inbox({ threadId: id })).items.length).toBe(1);
      const [item] = (await two.inbox({ threadId: id })).items;
      expect(await two.answer(item!.id, approve())).toMatchObject({ open: 0 });
      for (const seen of views) await expect.poll(() => seen.view.state).toBe("completed");
      for (const seen of views) seen.stop();
    }
    expect(effects()).toEqual(["pay", "pay"]);
  });
});
