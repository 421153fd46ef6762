// Requests of one terminal, answered in another: real processes on one data folder.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../data/open-database.ts";
import { asked, goOn, jsonLines } from "../testing/asked.ts";
import { type Home, testProgram } from "../testing/processes.ts";

const program = testProgram();

/** Changes the stored copy of a request without the store. */
async function damage(home: Home, id: string): Promise<void> {
  const db = await openDatabase(home.data);
  db.prepare("UPDATE request SET body = replace(body, 'touch', 'tough') WHERE id = ?").run(id);
  db.close();
}

describe("inbox and answer", () => {
  test("Q3: approved from another terminal, the call runs in its folder; the run continues when it is resumed", async () => {
    const home = program.home();
    const { threadId, ids } = await asked(home, "run pwd > made; echo ran");
    const inbox = await home.belay(["inbox"]);
    expect(inbox.stdout).toContain(`${ids[0]}  approval`);
    expect(inbox.stdout).toContain(`    Run this command?\n    $ pwd > made; echo ran\n    in ${home.folder}\n`);
    const { code, stdout } = await home.belay(["answer", ids[0]!, "yes"], { cwd: "/" });
    expect([code, stdout]).toEqual([
      0,
      `approve: taken. Nothing else is open there.\nResume with: belay --resume ${threadId}\n`,
    ]);
    expect(readFileSync(join(home.folder, "made"), "utf8")).toBe(`${home.folder}\n`);
    expect((await home.belay(["inbox"])).stderr).toBe("Nothing waits for an answer.\n");
    expect(await goOn(home, threadId)).toContain("ran\n[exit code 0]");
  });

  test("Q4: no with its reason, other arguments, a question, and a result in place of the call", async () => {
    const home = program.home();
    const no = await asked(home, "run touch made");
    expect((await home.belay(["answer", no.ids[0]!, "no,", "not", "today"])).stdout).toContain("reject: taken.");
    expect(await goOn(home, no.threadId)).toContain("not today");
    expect(existsSync(join(home.folder, "made"))).toBe(false);

    const edited = await asked(home, "run touch one");
    await home.belay(["answer", edited.ids[0]!, "yes", "--args", `{"command":"touch two"}`]);
    expect([existsSync(join(home.folder, "one")), existsSync(join(home.folder, "two"))]).toEqual([false, true]);

    const question = await asked(home, "ask me");
    expect((await home.belay(["inbox"])).stdout).toContain("- the code\n    - the docs");
    await home.belay(["answer", question.ids[0]!, "none", "of", "them"]);
    expect(await goOn(home, question.threadId)).toBe("So it is “none of them”. Thank you.\n");

    const stands = await asked(home, "run date");
    await home.belay(["answer", stands.ids[0]!, "--value", `"it is late"`]);
    expect(await goOn(home, stands.threadId)).toContain("it is late");
  });

  test("P7: a damaged request is reported beside the others, and by the exit code; it cannot be approved, and a fork asks it again", async () => {
    const home = program.home();
    const { threadId, ids } = await asked(home, "run touch one");
    const other = await asked(home, "run touch two");
    await damage(home, ids[0]!);
    const inbox = await home.belay(["inbox"]);
    expect(inbox.code).toBe(1);
    expect(inbox.stdout).toMatch(new RegExp(`^${other.ids[0]}  approval`));
    expect(inbox.stdout).not.toContain(ids[0]);
    const told = `Request ${ids[0]} is damaged and cannot be shown. A fork of its thread asks it anew: belay --resume ${threadId} --fork\n`;
    expect(inbox.stderr).toBe(told);
    const json = await home.belay(["inbox", "--json"]);
    expect([json.code, json.stderr, jsonLines(json.stdout).map(({ id }) => id)]).toEqual([1, told, other.ids]);
    const answer = await home.belay(["answer", ids[0]!, "yes"]);
    expect(answer).toMatchObject({ code: 2, stdout: "" });
    expect(answer.stderr).toContain("is damaged: an answer could allow something that is not shown.");
    await home.belay(["answer", other.ids[0]!, "yes"]);
    expect([existsSync(join(home.folder, "one")), existsSync(join(home.folder, "two"))]).toEqual([false, true]);

    const forked = ["-p", "--resume", threadId, "--fork", "--ask", "pause", "--output-format", "json"];
    const [fork] = jsonLines((await home.belay(forked)).stdout) as [{ interrupts: { id: string }[] }];
    expect((await home.belay(["inbox"])).stdout).toContain("$ touch one");
    await home.belay(["answer", fork.interrupts[0]!.id, "yes"]);
    expect(existsSync(join(home.folder, "one"))).toBe(true);
  });

  test("several are answered in any order, each by the beginning of its id; an ambiguous beginning changes nothing", async () => {
    const home = program.home();
    const { threadId, ids } = await asked(home, "three approvals");
    expect(ids).toHaveLength(3);
    expect(await home.belay(["answer", ids[2]!, "maybe"])).toMatchObject({ code: 2, stdout: "" });
    expect(await home.belay(["answer", ids[2]!])).toMatchObject({ code: 2 });
    expect(jsonLines((await home.belay(["inbox", "--json"])).stdout)).toHaveLength(3);
    const answered = await home.belay(["answer", ids[2]!.slice(0, -1), "yes", "--json"]);
    expect(jsonLines(answered.stdout)).toEqual([{ id: ids[2], threadId, answer: "approve", open: 2 }]);
    await home.belay(["answer", ids[0]!, "no"]);
    await home.belay(["answer", ids[1]!, "yes"]);
    expect(await home.belay(["answer", ids[1]!, "yes"])).toMatchObject({ code: 1 });
    const end = await goOn(home, threadId);
    expect(end).toMatch(/- rejected: .*\n- ok: Made notes\/two.txt, 4 bytes\.\n- ok: three\n$/);
  });

  test("Q6: two terminals answer at once: one counts, the other is refused, and each effect happens once", async () => {
    const home = program.home();
    const { ids } = await asked(home, "run echo once >> made");
    const both = await Promise.all(["ada", "bob"].map((by) => home.belay(["answer", ids[0]!, "yes", "--by", by])));
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
    const [first, second] = both[0]!.code === 0 ? (["ada", both[1]!] as const) : (["bob", both[0]!] as const);
    expect(second.stderr).toContain(`Request ${ids[0]} was already answered: approved by ${first}, `);
    expect(readFileSync(join(home.folder, "made"), "utf8")).toBe("once\n");
  });

  test("Q6: a second answer is refused with the person, the time and the decision of the first, also by the beginning of its id", async () => {
    const home = program.home();
    const question = await asked(home, "ask me");
    await home.belay(["answer", question.ids[0]!, "the docs", "--by", "ada"]);
    const time = "20\\d\\d-\\d\\d-\\d\\dT[\\d:.]+Z";
    const over = (id: string, how: string) =>
      new RegExp(`^Request ${id} was already answered: ${how}\\. The first answer counts`);
    const again = await home.belay(["answer", question.ids[0]!.slice(0, -3), "the code"]);
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toMatch(over(question.ids[0]!, `answered by ada, ${time}, "the docs"`));

    const command = await asked(home, "run touch made");
    await home.belay(["answer", command.ids[0]!, "no, never", "--by", "ada"]);
    const yes = await home.belay(["answer", command.ids[0]!, "yes"]);
    expect([yes.code, existsSync(join(home.folder, "made"))]).toEqual([1, false]);
    expect(yes.stderr).toMatch(over(command.ids[0]!, `rejected by ada, ${time}, "never"`));

    const withdrawn = await asked(home, "run touch made");
    await home.belay(["interrupt", withdrawn.threadId, "--by", "ada"]);
    const late = await home.belay(["answer", withdrawn.ids[0]!, "yes"]);
    expect([late.code, existsSync(join(home.folder, "made"))]).toEqual([1, false]);
    expect(late.stderr).toMatch(over(withdrawn.ids[0]!, `withdrawn by ada, ${time}`));
    expect(await home.belay(["answer", "nosuch", "yes"])).toMatchObject({ code: 2, stdout: "" });
  });

  test("an answer that does not fit is refused in words for people, and the request stays open", async () => {
    const home = program.home();
    const { ids } = await asked(home, "write a summary to SUMMARY.md");
    const { code, stderr } = await home.belay(["answer", ids[0]!, "yes", "--args", `{"path":"../x","text":""}`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^That answer does not fit: "\.\.\/x" lies outside of .*\. The request is still open\.\n$/);
    expect(jsonLines((await home.belay(["inbox", "--json"])).stdout)).toHaveLength(1);
  });

  test("a pause at a question asks for an answer, not for a yes", async () => {
    const home = program.home();
    const { stderr } = await home.belay(["-p", "ask me", "--ask", "pause"]);
    expect(stderr).toMatch(/^Waits for you: Which part .*\? Answer with: belay answer \w+ "your answer"\n/);
    const approval = await home.belay(["-p", "run true", "--ask", "pause"]);
    expect(approval.stderr).toMatch(/^Waits for you: Run this command\? Answer with: belay answer \w+ yes\n/);
  });

  test("remembered for always, the same is not asked for again, until the rule is removed", async () => {
    const home = program.home();
    const { ids } = await asked(home, "run echo hi");
    await home.belay(["answer", ids[0]!, "yes", "--remember", "always"]);
    expect((await home.belay(["-p", "run echo hi"])).stdout).toContain("hi\n[exit code 0]");
    expect((await home.belay(["-p", "run echo ho"])).stdout).toContain("nobody is there to be asked");
    const [listed] = jsonLines((await home.belay(["rules", "--json"])).stdout) as [{ remembered: { id: string }[] }];
    const { stdout } = await home.belay(["rules"]);
    expect(stdout).toContain(`Remembered in ${home.folder} (`);
    expect(stdout).toContain(`allow  shell {"command":"echo hi"}`);
    expect(await home.belay(["rules", "remove", listed.remembered[0]!.id])).toMatchObject({ code: 0 });
    expect((await home.belay(["-p", "run echo hi"])).stdout).toContain("nobody is there to be asked");
  });

  test("an answer reaches the process that runs the thread, which continues by itself", async () => {
    const wire = await wireServer();
    try {
      const home = program.home();
      mkdirSync(home.config);
      writeFileSync(join(home.config, "permissions.json"), `{ "rules": [{ "tool": "fetch", "effect": "allow" }] }`);
      let letGo = () => {};
      const held = new Promise<void>((resolve) => (letGo = resolve));
      const page = await import("node:http").then(({ createServer }) =>
        createServer((_, response) => void held.then(() => response.end("page"))),
      );
      await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
      const { port } = page.address() as { port: number };
      wire.script(
        [
          { call: "fetch", id: "c1", args: { url: `http://127.0.0.1:${port}/` } },
          { call: "write", id: "c2", args: { path: "made", text: "by the owner\n" } },
        ],
        ["all done"],
      );
      const args = ["-p", "go", "--ask", "pause", "--base-url", wire.url, "--model", "m"];
      const owner = home.start(args, { env: { BELAY_FETCH_ALLOW: `127.0.0.1:${port}` } });
      let waiting: Record<string, unknown>[] = [];
      while (waiting.length === 0) waiting = jsonLines((await home.belay(["inbox", "--json"])).stdout);
      expect(await home.belay(["answer", String(waiting[0]!.id), "yes"])).toMatchObject({ code: 0 });
      letGo();
      expect(await owner.ended).toMatchObject({ code: 0, stdout: "all done\n" });
      expect(readFileSync(join(home.folder, "made"), "utf8")).toBe("by the owner\n");
      page.close();
    } finally {
      await wire.close();
    }
  });
});
