// Two terminals on one data folder: real processes, one runs a thread, others look at it and stop it.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRunner } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../data/open-database.ts";
import { asked, goOn, jsonLines } from "../testing/asked.ts";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

describe("interrupt", () => {
  test("S2, P6: stops the run of another terminal, which says so and ends with 130; a second one finds nothing", async () => {
    const home = program.home();
    const running = home.start(["-p", "long 500", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "5" },
    });
    await running.said("paragraph 1");
    const [{ id }] = jsonLines((await home.belay(["threads", "--json"])).stdout) as [{ id: string }];
    const { code, stdout } = await home.belay(["interrupt", id, "--reason", "lunch", "--by", "maria"]);
    expect([code, stdout]).toEqual([0, "Stopped.\n"]);
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    const action = jsonLines(ended.stdout).find(({ type }) => type === "action");
    expect(action).toMatchObject({ action: { interrupted: { by: "maria", reason: "lunch" } } });
    expect(await home.belay(["interrupt", id])).toMatchObject({ code: 1, stdout: "Nothing was running any more.\n" });
  });

  test("S9: a thread that waits for people waits no more", async () => {
    const home = program.home();
    const { threadId, ids } = await asked(home, "run touch made");
    expect(await home.belay(["interrupt", threadId])).toMatchObject({ code: 0 });
    expect((await home.belay(["inbox"])).stdout).toBe("");
    expect(await home.belay(["answer", ids[0]!, "yes"])).toMatchObject({ code: 1 });
    expect(existsSync(join(home.folder, "made"))).toBe(false);
  });
});

describe("looking back", () => {
  test("threads lists all threads: state, folder, first words; a crashed one has its state", async () => {
    const home = program.home();
    expect(await home.belay(["threads"])).toMatchObject({ code: 0, stdout: "", stderr: "There are no threads yet.\n" });
    await home.belay(["-p", "hello \u001b[31mthere"]);
    const dying = home.start(["-p", "long 500", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "5" },
    });
    await dying.said("paragraph 1");
    expect(jsonLines((await home.belay(["threads", "--json"])).stdout).map(({ state }) => state)).toEqual([
      "running",
      "completed",
    ]);
    dying.child.kill("SIGKILL");
    await dying.ended;
    const { stdout } = await home.belay(["threads"]);
    expect(
      stdout.split("\n").map((line) =>
        line
          .trim()
          .split(/\s{2,}/)
          .slice(1),
      ),
    ).toEqual([
      ["crashed", expect.any(String), home.folder, "long 500"],
      ["completed", expect.any(String), home.folder, "hello there"],
      [],
    ]);
    expect(jsonLines((await home.belay(["threads", "--json", "--limit", "1"])).stdout)).toHaveLength(1);
    expect(await home.belay(["threads", "--limit", "0"])).toMatchObject({ code: 2 });
  });

  test("threads shows the title that a thread was given elsewhere", async () => {
    const home = program.home();
    await home.belay(["-p", "hello there"]);
    const [{ id }] = jsonLines((await home.belay(["threads", "--json"])).stdout) as [{ id: string }];
    const db = await openDatabase(home.data);
    const runner = createRunner({ store: sqliteStore(db) });
    await runner.label(id, { title: "A greeting" });
    await runner.close();
    db.close();
    expect((await home.belay(["threads"])).stdout).toContain("  A greeting\n");
    expect(jsonLines((await home.belay(["threads", "--json"])).stdout)).toMatchObject([{ title: "A greeting" }]);
  });

  test("log is a timeline, and the facts as JSON; also while another terminal runs the thread", async () => {
    const home = program.home();
    writeFileSync(join(home.folder, "README.md"), "# A\n\nWords.\n");
    const { threadId, ids } = await asked(home, "write a summary to OUT.md");
    await home.belay(["answer", ids[0]!, "yes", "--by", "maria"]);
    await goOn(home, threadId);
    const { code, stdout } = await home.belay(["log", threadId]);
    expect(code).toBe(0);
    const rows = stdout.split("\n").map((line) =>
      line
        .replace(/^.*? s {2}/, "")
        .replace(/\(\d.*?\)/, "(…)")
        .trimEnd(),
    );
    expect(rows.slice(1, -1)).toEqual([
      "state      initialized",
      "state      running",
      "person     write a summary to OUT.md",
      "agent      I look at what there is to write.",
      "call       list {}",
      "result     list ok: README.md  (…)",
      "agent      Now I would write it down.",
      `request    ${ids[0]} approval of write: Create OUT.md?`,
      "state      paused (tool_interrupt)",
      `answer     ${ids[0]} approve by maria`,
      expect.stringMatching(/^call {7}write \{"path":"OUT.md"/),
      "result     write ok: Made OUT.md, 30 bytes.  (…)",
      "state      running",
      "agent      Done: Made OUT.md, 30 bytes.",
      expect.stringMatching(/^end {8}completed, \d+ \+ \d+ tokens$/),
      "state      completed",
    ]);
    const facts = jsonLines((await home.belay(["log", threadId, "--json"])).stdout);
    expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, at) => at + 1));
  });

  test("log --follow prints the events of another terminal, until it is stopped", async () => {
    const home = program.home();
    await home.belay(["-p", "hello"]);
    const [{ id }] = jsonLines((await home.belay(["threads", "--json"])).stdout) as [{ id: string }];
    const following = home.start(["log", id, "--follow"]);
    await following.said("state      completed");
    await home.belay(["-p", "list", "--continue"]);
    await following.said("call       list {}");
    following.child.kill("SIGINT");
    expect((await following.ended).code).toBe(0);
  });

  test("export prints messages and calls as a page, with cut answers as one, or everything as JSON", async () => {
    const home = program.home();
    writeFileSync(join(home.folder, "README.md"), "```\ncode\n```\n");
    const running = home.start(["-p", "long 30", "--output-format", "stream-json"], {
      env: { BELAY_DEMO_DELAY_MS: "5" },
    });
    await running.said("paragraph 1");
    running.child.kill("SIGINT");
    await running.ended;
    await home.belay(["-p", "--continue"]);
    await home.belay(["-p", "read README.md", "--continue"]);
    const [{ id }] = jsonLines((await home.belay(["threads", "--json"])).stdout) as [{ id: string }];
    const page = (await home.belay(["export", id])).stdout;
    expect(page.startsWith(`# Thread ${id}\n\n${home.folder} · `)).toBe(true);
    expect(page.match(/^## \w+$/gm)).toEqual(["## Person", "## Agent", "## Person", "## Agent", "## Agent"]);
    expect(page.match(/paragraph \d+ of 30/g)).toHaveLength(30);
    expect(page).toContain('**read** `{"path":"README.md"}` → ok\n\n````\n```\ncode\n```\n````');
    const file = join(home.folder, "thread.json");
    expect(await home.belay(["export", id, "--format", "json", "-o", file])).toMatchObject({ code: 0, stdout: "" });
    const all = JSON.parse(readFileSync(file, "utf8"));
    expect(all).toMatchObject({ threadId: id, folder: home.folder });
    expect(all.messages.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
  });

  test("S4: log and export show the output of a command that was cut off, as text", async () => {
    const home = program.home();
    const rule = { tool: "shell", effect: "allow" };
    mkdirSync(home.config);
    writeFileSync(join(home.config, "permissions.json"), JSON.stringify({ rules: [rule] }));
    const running = home.start(["-p", "run echo said; sleep 30", "--output-format", "stream-json"]);
    await running.said('"tool-progress"');
    running.child.kill("SIGINT");
    await running.ended;
    const [{ id }] = jsonLines((await home.belay(["threads", "--json"])).stdout) as [{ id: string }];
    expect((await home.belay(["export", id])).stdout).toContain("→ interrupted\n\n```\nsaid\n```\n");
    expect((await home.belay(["log", id])).stdout).toMatch(/result +shell interrupted: said {2}\(/);
  });
});

describe("rules", () => {
  test("TC5: the built-in rules and those of the person's file are shown, and a call is explained by both", async () => {
    const home = program.home();
    const explain = async (tool: string, args: object) =>
      (await home.belay(["rules", "explain", tool, JSON.stringify(args)])).stdout;
    const { stdout } = await home.belay(["rules"]);
    expect(stdout).toContain("Built-in rules");
    expect(stdout).toContain(`builtin:env  ask  * {"path":"*.env*"}`);
    expect(await explain("read", { path: "a/.env.local" })).toMatch(/^ask: read needs approval under rule builtin:env/);
    expect(await explain("read", { path: "a.txt" })).toMatch(/^allow: /);
    expect(await explain("shell", { command: "ls" })).toMatch(/^ask: /);
    const file = join(home.config, "permissions.json");
    expect((await home.belay(["rules", "init"])).stdout).toBe(`Wrote ${file}.\n`);
    expect(await home.belay(["rules", "init"])).toMatchObject({ code: 1 });
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ builtin: true, rules: [] });
    const rules = [{ tool: "shell", args: { command: "npm test*" }, effect: "allow" }];
    writeFileSync(file, JSON.stringify({ rules }));
    const both = (await home.belay(["rules"])).stdout;
    expect(both).toContain("builtin:id_rsa  deny");
    expect(both).toContain(`Rules of ${file}, the later the stronger:\n  file#0  allow  shell {"command":"npm test*"}`);
    expect(await explain("read", { path: "id_rsa" })).toMatch(/^deny: /);
    expect(await explain("shell", { command: "npm test" })).toMatch(/^allow: /);
    expect(await explain("shell", { command: "npm test; rm -rf ." })).toMatch(/^ask: /);
    writeFileSync(file, JSON.stringify({ builtin: false, rules }));
    expect((await home.belay(["rules"])).stdout).toContain(`${file} drops the built-in rules.`);
    expect(await explain("read", { path: "id_rsa" })).toMatch(/^allow: /);
  });
});

test("--help of each command names its options; -V prints the version; the language can be chosen", async () => {
  const { belay } = program.home();
  const help = await belay(["--help"]);
  expect(help.code).toBe(0);
  for (const word of [
    "--print",
    "--continue",
    "--resume",
    "--fork",
    "--model",
    "--base-url",
    "threads",
    "inbox",
    "answer",
    "interrupt",
    "log",
    "export",
    "rules",
    "130",
  ]) {
    expect(help.stdout).toContain(word);
  }
  for (const name of ["threads", "inbox", "answer", "interrupt", "log", "export", "rules"]) {
    expect((await belay([name, "--help"])).stdout, name).toContain(`Usage: belay ${name}`);
  }
  expect((await belay(["-V"])).stdout).toBe("0.1.0\n");
  expect((await belay(["inbox", "--lang", "zh"])).stderr).toBe("没有等待回答的请求。\n");
});
