import { eachStore, gate, history, openKit, settle, toolOf, unhandled, until, wrapStore } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { belayError } from "../../error.ts";
import type { LogEntry, Store } from "../../index.ts";
import type { Command } from "../../store/store.ts";

const key = { tenant: "default", threadId: "thread" };

/** A store whose hints wait until they are let through, so that several commands are found in one look. */
function quiet(store: Store) {
  const waiting = new Map<unknown, () => void>();
  const held = wrapStore(store, {
    watch: (of, changed, ...rest) => store.watch(of, (what) => void waiting.set(changed, () => changed(what)), ...rest),
  });
  const hint = () => {
    for (const each of waiting.values()) each();
    waiting.clear();
  };
  return { store: held, hint };
}

/** A run with a waiting tool, its store, and the entries of the log. */
async function running(inner: Store) {
  const log: LogEntry[] = [];
  const begun = gate();
  const end = gate();
  const { store, hint } = quiet(inner);
  const wait = toolOf("wait", async () => {
    begun.open();
    await end.opened;
    return "done";
  });
  const kit = await openKit([[{ call: "wait" }], "heard", "more"], {
    store,
    tools: [wait],
    runner: { log: (entry) => void log.push(entry) },
  });
  const run = kit.session.run("go");
  await begun.opened;
  const send = (name: string, kind: Command["kind"], body: unknown) =>
    store.send(key, { key: name, kind, body: typeof body === "string" ? body : JSON.stringify(body), at: Date.now() });
  const told = () => log.map(({ level, error, threadId }) => [level, error.code, threadId, error.message]);
  return { ...kit, run, send, hint, end: end.open, told };
}

const corrupt = (name: string, what: string) => [
  "warn",
  "JOURNAL_CORRUPT",
  "thread",
  `The journal of thread thread is damaged at 0: command ${name} ${what}.`,
];

describe.each(eachStore)("a damaged command on $name", ({ make }) => {
  it("S1, C4: holds up no stop behind it, and is logged once", async () => {
    const { run, send, hint, told } = await running(await make());
    await send("s1", "steer", '{"messages":');
    await send("stop:x", "stop", { runId: run.runId, segment: 1, options: {} });
    hint();
    expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
    hint();
    await settle();
    expect(told()).toEqual([corrupt("s1", "is not JSON")]);
  });

  it("C4: delays no steer behind it, with any kind, and stays in the store", async () => {
    const { run, send, hint, told, end, session, store } = await running(await make());
    const damaged = { s1: "steer", "stop:y": "stop", "late:z": "late", "answer:a": "answer" } as const;
    for (const [name, kind] of Object.entries(damaged)) await send(name, kind, null);
    const steer = (text: string) => ({ messages: [{ parts: [{ type: "text", text }] }] });
    await send("s2", "steer", { messages: [{ parts: "not a list" }] });
    await send("s3", "steer", steer("look up"));
    hint();
    await settle();
    end();
    expect(await run.result).toMatchObject({ status: "completed", text: "heard" });
    expect(history(session.messages)).toContain("user: look up");
    const kinds: Record<string, string> = { ...damaged, s2: "steer" };
    const names = Object.keys(kinds);
    expect(told()).toEqual(names.map((name) => corrupt(name, `is no ${kinds[name]}`)));
    expect((await store.load(key))?.commands.map((command) => command.key)).toEqual(names);
  });

  it("C4: that is an input for the next run ends no process: it is logged, and the next resume fails with it", async () => {
    const { run, send, hint, told, end, session } = await running(await make());
    const lost = await unhandled(async () => {
      await send("i1", "input", "no");
      hint();
      end();
      await run.result;
      await until(() => told().length > 0);
    });
    expect(lost).toEqual([]);
    expect(told()).toEqual([corrupt("i1", "is not JSON")]);
    await expect(session.enqueue("and then")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  });
});

it("C4, V7: an input that cannot be read takes no slot: the inputs of other threads start", async () => {
  const { runner, session, store, requests } = await openKit(["done", "and done"], { runner: { concurrency: 1 } });
  await session.run("go").result;
  await store.send(key, { key: "i1", kind: "input", body: "no", at: Date.now() });
  await expect(session.enqueue("and then")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  await runner.enqueue("another", "go", { start: "here" });
  await until(() => requests.length === 2);
});

it("C4: a command that the store itself refuses is logged once by the owner of the thread", async () => {
  const { run, hint, told, end, session, store } = await running(await eachStore[1]!.make());
  const load = store.load;
  const problem = "command s1 does not fit its checksum";
  (store as { load: Store["load"] }).load = async (of, after) => {
    if (after === Number.MAX_SAFE_INTEGER) throw belayError("JOURNAL_CORRUPT", { threadId: "thread", seq: 0, problem });
    return load(of, after);
  };
  await session.steer("look up");
  hint();
  await settle();
  hint();
  end();
  await run.result;
  expect(told()).toEqual([corrupt("s1", "does not fit its checksum")]);
});
