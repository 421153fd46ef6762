// An approved change happens in the shown folder: a thread is about one folder, however it is opened.

import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { asked, goOn, jsonLines } from "./testing/asked.ts";
import { type Home, testProgram } from "./testing/processes.ts";
import { SEEN_MS, testTalks, write } from "./testing/talk.ts";
import { CTRL_D, ENTER } from "./testing/terminal.ts";

const program = testProgram();
const { talk } = testTalks(wireServer);

/** A request to make a file, and another folder. */
async function waiting() {
  const home = program.home();
  const other = join(home.folder, "../other");
  mkdirSync(other);
  const { threadId, ids } = await asked(home, "run touch made");
  const made = () => [home.folder, realpathSync(other)].filter((folder) => existsSync(join(folder, "made")));
  return { home, other: realpathSync(other), threadId, id: ids[0]!, made };
}

const openIds = async (home: Home) => jsonLines((await home.belay(["inbox", "--json"])).stdout).map(({ id }) => id);

describe("Q5: a thread that is about another folder", { timeout: 60_000 }, () => {
  test("is not continued here, and its requests stay open; a fork is, without the requests and permissions of that folder", async () => {
    const { home, other, threadId, id, made } = await waiting();
    for (const words of [[], ["something else"]]) {
      const { code, stdout, stderr } = await home.belay(["-p", ...words, "--resume", threadId, "-C", other]);
      expect([code, stdout, stderr]).toEqual([
        2,
        "",
        `Thread ${threadId} is about ${home.folder}, not about ${other}. Continue it there, without --folder; or with the same past here, in a new thread, by --fork.\n`,
      ]);
    }
    expect((await home.belay(["-p", "--continue", "-C", other])).stderr).toContain(`There is no thread of ${other}`);
    expect(await openIds(home)).toEqual([id]);

    await home.belay(["answer", id, "yes", "--remember", "thread"]);
    expect(made()).toEqual([home.folder]);
    const next = await asked(
      { ...home, belay: (args) => home.belay([...args, "--resume", threadId]) },
      "run touch next",
    );
    const fork = await home.belay(["-p", "--resume", threadId, "--fork", "-C", other]);
    expect(fork.stderr).not.toContain("Waits for you");
    const [forked] = jsonLines((await home.belay(["threads", "--json"])).stdout).filter((row) => row.id !== threadId);
    expect(forked).toMatchObject({ forkOf: threadId, folder: other });
    // Allowed in that thread, and not in this one.
    expect(await openIds(home)).toEqual(next.ids);
    const again = await home.belay(["-p", "run touch made", "--resume", String(forked!.id), "--ask", "pause"]);
    expect(again.stderr).toContain("Waits for you: Run this command?");
    expect(made()).toEqual([home.folder]);
  });

  test("an approval for one folder runs in no other, also if the note of the folder is lost", async () => {
    const { home, other, threadId, id, made } = await waiting();
    rmSync(join(home.data, "notes"), { recursive: true });
    await home.belay(["answer", id, "yes"], { cwd: other });
    expect(made()).toEqual([]);
    expect(await goOn({ ...home, belay: (args) => home.belay(args, { cwd: other }) }, threadId)).toContain(
      `what was approved (shell version in ${home.folder}) is not what would run now (shell version in ${other})`,
    );
  });

  test("a folder that has become a link to another one is another one; the hint says how to continue, and works", async () => {
    const { home, other, threadId, id, made } = await waiting();
    renameSync(home.folder, `${home.folder}.old`);
    symlinkSync(other, home.folder);
    const at = { cwd: other };
    const refused = {
      code: 2,
      stdout: "",
      stderr: `Thread ${threadId} is about ${home.folder}, which leads to ${other} by now. Put it back to continue there; or continue with the same past in another folder, in a new thread, by --fork and --folder.\n`,
    };
    expect(await home.belay(["answer", id, "yes"], at)).toEqual(refused);
    expect(await home.belay(["-p", "--resume", threadId], at)).toEqual(refused);
    expect(await home.belay(["-p", "--resume", threadId, "-C", other], at)).toEqual(refused);
    expect([made(), await openIds(home)]).toEqual([[], [id]]);
    const fork = await home.belay(["-p", "something else", "--resume", threadId, "--fork", "--folder", other], at);
    expect(fork).toMatchObject({ code: 0, stderr: "" });

    rmSync(home.folder);
    for (const args of [
      ["answer", id, "yes"],
      ["-p", "--resume", threadId, "-C", other],
    ]) {
      const gone = await home.belay(args, at);
      expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining("is not there any more. Put it back")]);
    }
    renameSync(`${home.folder}.old`, home.folder);
    expect(await home.belay(["answer", id, "yes"], at)).toMatchObject({ code: 0 });
    expect(made()).toEqual([home.folder]);
  });

  test("is not opened from the list where another folder was named; the list stays, and nothing is asked there", async () => {
    const first = await talk([[write("made.txt")]]);
    first.ask("make it");
    await first.untilSeen("Create made.txt?");
    first.press(CTRL_D);
    await first.exited;
    const other = join(first.folder, "other");
    mkdirSync(other);
    writeFileSync(join(other, "here"), "");
    const list = await talk([], {
      folder: first.folder,
      args: ["--resume", "-C", other],
      ready: "Which thread?",
    });
    await list.untilSeen("❯ make it");
    list.press(ENTER);
    await list.untilSeen(/is about \S+ not about \S+/);
    await list.untilSeen("❯ make it");
    await sleep(SEEN_MS);
    list.press(`y${ENTER}`);
    await sleep(SEEN_MS);
    expect(list.text()).not.toContain("Create made.txt?");
    expect(["made.txt", "other/made.txt"].filter((file) => existsSync(join(first.folder, file)))).toEqual([]);
  });
});
