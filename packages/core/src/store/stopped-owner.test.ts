// Commands to a process that a signal has stopped, on every store that processes share.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@belay/testkit";
import { bundlePrograms, type Child, type OpenStore, openStore, places, startChild } from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { approve, createRunner, type Runner } from "../index.ts";

let programs: string;
let folder: string;
let where: string;
let opened: OpenStore;
let front: Runner;
let child: Child;

beforeAll(async () => {
  programs = await bundlePrograms();
});

describe.each(places)("an owner that stands still, on $name", (place) => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "belay-stopped-"));
    where = await place.at(folder);
    opened = await openStore(where);
    front = createRunner({ store: opened.store });
    child = startChild(programs, "busy", { where, leaseTtlMs: 60_000 });
  });
  afterEach(async () => {
    child.signal("SIGKILL");
    await child.exited;
    await front.close();
    await opened.close();
    await place.remove(where);
    rmSync(folder, { recursive: true });
  });

  test("V1: the caller gets THREAD_BUSY after waitMs, and its command cannot act when the owner wakes", async () => {
    await child.said("works");
    await until(async () => (await front.inbox()).items.length === 1);
    const [request] = (await front.inbox()).items;
    const head = (await front.look("thread"))!.head;
    child.signal("SIGSTOP");
    const began = Date.now();
    const busy = { code: "THREAD_BUSY" };
    const late = { waitMs: 300 };
    await Promise.all([
      expect(front.answer(request!.id, approve(), { ...late, id: "a" })).rejects.toMatchObject(busy),
      expect(front.label("thread", { title: "never" }, { ...late, id: "l" })).rejects.toMatchObject(busy),
      expect(front.removeRule("none", { ...late, threadId: "thread" })).rejects.toMatchObject(busy),
    ]);
    expect(Date.now() - began).toBeLessThan(5_000);
    child.signal("SIGCONT");
    child.tell("go");
    await child.said("ended interrupted");
    const facts = (await front.journal("thread", { after: head })).items.map(({ type }) => type);
    expect(facts).not.toContain("command");
    expect(facts).not.toContain("request-answered");
    expect(child.lines).not.toContain("paid");
    expect((await front.inbox()).items.map(({ id }) => id)).toEqual([request!.id]);
    expect((await front.look("thread"))!).toMatchObject({ title: "go", waiting: [] });
    // The same ids again are new commands: a refusal is not remembered.
    await front.label("thread", { title: "now" }, { id: "l" });
    expect((await front.look("thread"))!.title).toBe("now");
    expect(await front.answer(request!.id, approve(), { id: "a" })).toEqual({ open: 0 });
  });

  test("V1: an owner that wakes within waitMs takes the command", async () => {
    await child.said("works");
    await until(async () => (await front.inbox()).items.length === 1);
    const [request] = (await front.inbox()).items;
    child.signal("SIGSTOP");
    const answering = front.answer(request!.id, approve(), { waitMs: 20_000, by: "ann" });
    await until(
      async () => (await opened.store.load({ tenant: "default", threadId: "thread" }))?.commands.length === 1,
    );
    child.signal("SIGCONT");
    expect(await answering).toEqual({ open: 0 });
    await child.said("paid");
    child.tell("go");
    await child.said("ended completed");
  });
});
