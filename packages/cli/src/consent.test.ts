// The reach of a yes, with the program as processes: other folders, files that change in between, links, earlier releases.

import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openDatabase } from "./data/open-database.ts";
import { asked, goOn, jsonLines } from "./testing/asked.ts";
import { type Home, testProgram } from "./testing/processes.ts";

const program = testProgram();

const inbox = async (home: Home) =>
  jsonLines((await home.belay(["inbox", "--json"])).stdout) as { id: string; context: { diff: string } }[];

describe("TC2: an always", () => {
  test("holds in the folder that it was said in, and asks in another; everywhere is said by its name", async () => {
    const home = program.home();
    const other = join(home.folder, "../other");
    mkdirSync(other);
    const runs = async (cwd: string) =>
      (await home.belay(["-p", "run echo ruled", "--ask", "pause"], { cwd })).code === 0;
    const { ids } = await asked(home, "run echo ruled");
    await home.belay(["answer", ids[0]!, "yes", "--remember", "always"]);
    expect([await runs(home.folder), await runs(other)]).toEqual([true, false]);
    const here = (await home.belay(["rules"])).stdout;
    expect(here).toContain(`Remembered in ${realpathSync(home.folder)} (belay rules remove <id>):\n  rule.`);
    expect((await home.belay(["rules"], { cwd: other })).stdout).toContain(`${realpathSync(home.folder)}, not here:`);
    // A link to the folder is that folder.
    symlinkSync(home.folder, join(home.folder, "../linked"));
    expect(await runs(join(home.folder, "../linked"))).toBe(true);

    const [waits] = await inbox(home);
    await home.belay(["answer", waits!.id, "yes", "--remember", "everywhere"]);
    expect(await runs(other)).toBe(true);
    expect((await home.belay(["rules"])).stdout).toContain("Remembered in every folder");
  });
});

describe("TC3: a file that changes between the difference and the yes", () => {
  test("edit: nothing is written, the new difference is asked for, and a yes to that writes it", async () => {
    const home = program.home();
    const file = join(home.folder, "notes.txt");
    writeFileSync(file, "one\n");
    const { threadId, ids } = await asked(home, 'edit notes.txt: "one" to "two"');
    writeFileSync(file, "one\nand mine\n");
    // In another process than the one that asked.
    await home.belay(["answer", ids[0]!, "yes"]);
    expect(readFileSync(file, "utf8")).toBe("one\nand mine\n");
    const [again, ...others] = await inbox(home);
    expect(others).toEqual([]);
    expect(again).toMatchObject({ reason: "notes.txt has changed since you saw it. Change it like this?" });
    expect(again!.context.diff).toContain("-one\n+two\n and mine\n");
    await home.belay(["answer", again!.id, "yes"]);
    expect(readFileSync(file, "utf8")).toBe("two\nand mine\n");
    expect(await goOn(home, threadId)).toContain("Replaced once in notes.txt.");
  });

  test("it changes again before the second yes, and is asked for once more; a no leaves it alone", async () => {
    const home = program.home();
    const file = join(home.folder, "notes.txt");
    writeFileSync(file, "one\n");
    const { threadId, ids } = await asked(home, 'edit notes.txt: "one" to "two"');
    writeFileSync(file, "one\nmine\n");
    await home.belay(["answer", ids[0]!, "yes"]);
    const [second] = await inbox(home);
    // Back to the text that was approved first: the open request still counts.
    writeFileSync(file, "one\n");
    await home.belay(["answer", second!.id, "yes"]);
    expect(readFileSync(file, "utf8")).toBe("one\n");
    const [third] = await inbox(home);
    await home.belay(["answer", third!.id, "no leave it"]);
    expect(await goOn(home, threadId)).toContain("the person rejected the new one: leave it");
    expect(readFileSync(file, "utf8")).toBe("one\n");
  });
});

describe("TC4: a link in the repository", () => {
  test("to .env is not read unasked, and one to a private key not at all", async () => {
    const home = program.home();
    mkdirSync(join(home.folder, "docs"));
    writeFileSync(join(home.folder, ".env"), "TOKEN=hidden-one\n");
    writeFileSync(join(home.folder, "id_ecdsa"), "hidden-two\n");
    symlinkSync("../.env", join(home.folder, "docs/setup.md"));
    symlinkSync("../id_ecdsa", join(home.folder, "docs/key.md"));
    const setup = await home.belay(["-p", "read docs/setup.md", "--ask", "pause"]);
    expect(setup).toMatchObject({ code: 3 });
    expect(setup.stderr).toContain("Read docs/setup.md? It leads to .env. (such files often hold keys)");
    const key = await home.belay(["-p", "read docs/key.md"]);
    expect(key.stdout).toContain("private keys stay here");
    expect(setup.stdout + key.stdout).not.toContain("hidden");
  });
});

describe("a data folder of an earlier release", () => {
  const folder = "/tmp/belay-earlier-release";
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("TC2: still opens; its rules for always do not apply, and are listed for another decision", async () => {
    const home = program.home();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "notes.txt"), "one\n");
    const db = await openDatabase(home.data);
    db.exec(readFileSync(new URL("./testing/earlier-release.sql", import.meta.url), "utf8"));
    db.close();
    const threads = ["mwlkifnlxo785j16rl", "mwlkiguzf2bradvvqc", "mwlkihlah5ocm8ir6d"] as const;
    mkdirSync(join(home.data, "notes"), { recursive: true });
    for (const id of threads) writeFileSync(join(home.data, "notes", `${id}.json`), JSON.stringify({ folder }));
    const options = { cwd: folder };

    expect((await home.belay(["threads"], options)).stdout.match(/^mwlk/gm)).toHaveLength(3);
    const { stdout: listed } = await home.belay(["rules"], options);
    expect(listed).toContain("Remembered by an earlier release, for no folder.");
    expect(listed).toContain(`rule.mwlkifnz6jf5neppq7  allow  shell {"":{"command":"echo always"}}`);
    const always = () => home.belay(["-p", "run echo always", "--ask", "pause"], options);
    expect(await always()).toMatchObject({ code: 3 });
    // A rule of a thread is about its folder already.
    expect((await home.belay(["-p", "run echo thread", "--resume", threads[1]], options)).code).toBe(0);
    // The request is still answered, once.
    await home.belay(["answer", "mwlkihmeqsc9n70rhx", "yes"], options);
    expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("two\n");

    const kept = await home.belay(["rules", "keep", "rule.mwlkifnz"], options);
    expect(kept).toMatchObject({ code: 0, stdout: `rule.mwlkifnz6jf5neppq7 now holds in ${folder}.\n` });
    expect(await always()).toMatchObject({ code: 0 });
    expect((await home.belay(["rules"], options)).stdout).not.toContain("earlier release, for no folder");
    expect(await home.belay(["-p", "run echo always", "--ask", "pause"])).toMatchObject({ code: 3 });
  });
});
