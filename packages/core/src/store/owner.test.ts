import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { openDatabase } from "@belay/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { isGone, ownerName, placeOf, startOf } from "./owner.ts";
import { sqliteStore } from "./sqlite/sqlite.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Another process that lives until it is killed. */
async function another(): Promise<{ readonly pid: number; end(): Promise<void> }> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000); console.log('up')"]);
  children.push(child);
  await once(child.stdout, "data");
  const exited = once(child, "exit");
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  return { pid: child.pid!, end };
}

const [here = "", pid = "", start = ""] = ownerName("id").split("/");
const linux = process.platform === "linux";
const nobody = 2 ** 22 + 1;

describe("C3: whether an owner is gone", () => {
  test("this process is not, nor is another that lives", async () => {
    const { pid } = await another();
    expect([isGone(ownerName("a")), isGone(`${here}/${pid}/${startOf(pid)}/b`)]).toEqual([false, false]);
  });

  test("one that died is, at once", async () => {
    const { pid, end } = await another();
    const name = `${here}/${pid}/${startOf(pid)}/b`;
    await end();
    expect(isGone(name)).toBe(true);
  });

  test.runIf(linux)("an owner whose pid belongs to another process by now is", async () => {
    const { pid } = await another();
    expect(isGone(`${here}/${pid}/${Number(startOf(pid)) - 1}/b`)).toBe(true);
  });

  test.runIf(linux)("one that had the pid of this process before it is", () => {
    expect(isGone(`${here}/${pid}/${Number(start) - 1}/a`)).toBe(true);
  });

  test("an unknown start time proves nothing", async () => {
    const { pid } = await another();
    expect(isGone(`${here}/${pid}//b`)).toBe(false);
  });

  test("an owner on another host is not judged, with any pid", () => {
    expect(isGone(`elsewhere/${nobody}/1/b`)).toBe(false);
    expect(isGone(`elsewhere/${process.pid}/1/b`)).toBe(false);
    expect(isGone(`${here.replace(hostname(), "elsewhere")}/${nobody}/1/b`)).toBe(false);
  });

  test.runIf(linux)("one on this host that is out of sight is not judged: another pid namespace, another boot", () => {
    const [boot = "", namespace = ""] = here.slice(hostname().length + 1).split(".");
    expect(placeOf(hostname(), `pid:[${namespace}]`, boot)).toBe(here);
    for (const place of [
      placeOf(hostname(), `pid:[${Number(namespace) + 1}]`, boot),
      placeOf(hostname(), `pid:[${namespace}]`, "another0"),
    ]) {
      expect(isGone(`${place}/${nobody}/1/b`)).toBe(false);
      expect(isGone(`${place}/${process.pid}/1/b`)).toBe(false);
    }
  });

  test("names of earlier versions, without a namespace, are judged as they were", async () => {
    const { pid, end } = await another();
    const name = `${hostname()}/${pid}/${startOf(pid)}/b`;
    expect(isGone(name)).toBe(false);
    await end();
    expect(isGone(name)).toBe(true);
    expect(isGone(`${hostname()}/${nobody}/1/b`)).toBe(true);
  });

  test.runIf(linux)(
    "to earlier versions, which judge by the host's name alone, a name of today is of another host",
    () => {
      expect(here).not.toBe(hostname());
      expect(ownerName("a").split("/")).toHaveLength(4);
    },
  );

  test("a foreign name is not judged", () => {
    for (const name of ["", "owner", hostname(), here, `${here}/${nobody}`]) expect(isGone(name)).toBe(false);
  });

  test("on a system without namespaces the place is the host", () => {
    expect([placeOf("host", "", ""), placeOf("host", "", "b")]).toEqual(["host", "host"]);
    expect(placeOf("host", "pid:[4026531836]", "1e5ee768-afa7\n")).toBe("host@1e5ee768.4026531836");
    expect(placeOf("host", "pid:[4026531836]", "")).toBe("host@.4026531836");
  });
});

describe("C3: the lease of an owner", () => {
  const key = { tenant: "default", threadId: "t" };
  const append = (owner: string, expect: number) => ({
    ...{ appendId: `${owner} ${expect}`, expect, count: 1, at: 1, body: "{}", release: false, agent: "a" },
    ...{ state: "running" as const, writer: { take: owner, ttlMs: 60_000 } },
  });

  test("in another pid namespace holds until its time is over; of one that is gone here it is free", async () => {
    const db = await openDatabase(":memory:");
    const store = sqliteStore(db);
    const apart = `${placeOf(hostname(), "pid:[1]", "another0")}/${nobody}/1/b`;
    await store.append(key, append(apart, 0));
    expect((await store.load(key))?.row.lease).toMatchObject({ owner: apart });
    expect(await store.append(key, append("us", 1))).toMatchObject({ ok: false, why: "busy", owner: apart });
    const gone = { ...key, threadId: "u" };
    await store.append(gone, append(`${here}/${nobody}/1/b`, 0));
    expect((await store.load(gone))?.row.lease).toBeUndefined();
    expect(await store.append(gone, append("us", 1))).toMatchObject({ ok: true, fence: 2 });
    db.close();
  });
});
