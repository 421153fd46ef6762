// The tools by themselves, on real files, real links, real processes.
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, approve, createRunner, reject, type Tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { judgeBy } from "../permissions/judge.ts";
import { writeText } from "./paths.ts";
import { folderTools } from "./tools.ts";

let root: string;
let outside: string;
let tools: Record<string, Tool<unknown>>;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belay-tools-")));
  outside = realpathSync(mkdtempSync(join(tmpdir(), "belay-outside-")));
  writeFileSync(join(outside, "secret.txt"), "secret");
  const list: readonly Tool<unknown>[] = folderTools(
    root,
    judgeBy({ default: "allow" }, () => list),
  );
  tools = Object.fromEntries(list.map((each) => [each.name, each]));
});
afterEach(() => {
  for (const folder of [root, outside]) rmSync(folder, { recursive: true, force: true });
});

const use = async (name: string, args: object) => tools[name]!.execute(args as never);
const put = (path: string, text: string) => writeFileSync(join(root, path), text);
const get = (path: string) => readFileSync(join(root, path), "utf8");

/** Returns the verdict of the schema, as the runtime asks for it before a person. */
async function refusal(name: string, args: object): Promise<string | undefined> {
  const result = await tools[name]!.input["~standard"].validate(args);
  return result.issues?.map(({ message }) => message).join("; ");
}

describe("paths", () => {
  test("nothing outside of the folder is read or written: not by .., not by an absolute path, not through links", async () => {
    symlinkSync(outside, join(root, "away"));
    symlinkSync(join(outside, "secret.txt"), join(root, "alias"));
    for (const path of ["../x", join(outside, "secret.txt"), "away/secret.txt", "alias", "a\0b"]) {
      await expect(use("read", { path }), path).rejects.toMatchObject({ code: "PATH_OUTSIDE" });
    }
    for (const path of ["../new.txt", join(outside, "new.txt"), "away/new.txt", "away/deep/er/new.txt", "alias"]) {
      await expect(use("write", { path, text: "x", overwrite: true }), path).rejects.toMatchObject({
        code: "PATH_OUTSIDE",
      });
    }
    await expect(use("list", { path: "away" })).rejects.toMatchObject({ code: "PATH_OUTSIDE" });
    await expect(use("search", { pattern: "secret", path: "away" })).rejects.toMatchObject({ code: "PATH_OUTSIDE" });
    expect(await use("search", { pattern: "secret" })).toBe("[nothing in . matches]");
    expect(execFileSync("ls", [outside], { encoding: "utf8" })).toBe("secret.txt\n");
  });

  test("a link that stays inside is followed, and writing through it keeps the link", async () => {
    mkdirSync(join(root, "real"));
    put("real/file.txt", "one\n");
    symlinkSync("real/file.txt", join(root, "link.txt"));
    expect(await use("read", { path: "link.txt" })).toBe("one");
    await use("edit", { path: "link.txt", old: "one", new: "two" });
    expect(get("real/file.txt")).toBe("two\n");
    expect(readFileSync(join(root, "link.txt"), "utf8")).toBe("two\n");
  });

  test("a folder swapped for a link between check and open gains nothing", async () => {
    for (const place of [root, outside]) mkdirSync(join(place, "d"));
    put("d/file.txt", "inside");
    writeFileSync(join(outside, "d/file.txt"), "outside");
    symlinkSync(join(outside, "d"), join(root, "link"));
    // Another process, as fast as it can: d is the folder, then the link, then the folder again.
    const swap = `const { renameSync } = require("node:fs"); process.chdir(process.argv[1]); console.log("ready");
      for (;;) { renameSync("d", "real"); renameSync("link", "d"); renameSync("d", "link"); renameSync("real", "d"); }`;
    const swapping = spawn(process.execPath, ["-e", swap, root]);
    try {
      await new Promise((resolve) => swapping.stdout.once("data", resolve));
      const read = new Set<unknown>();
      for (let at = 0; at < 3_000; at++)
        read.add(await use("read", { path: "d/file.txt" }).catch((error) => error.code));
      expect([...read].sort()).toEqual(["PATH_MISSING", "PATH_OUTSIDE", "inside"]);
      expect(execFileSync("ls", ["-A", join(outside, "d")], { encoding: "utf8" })).toBe("file.txt\n");
    } finally {
      swapping.kill("SIGKILL");
    }
  });

  test("nor does any part of a written text land outside", async () => {
    for (const place of [root, outside]) mkdirSync(join(place, "d"));
    symlinkSync(join(outside, "d"), join(root, "link"));
    // As above; a folder that was made in the place of the missing one is cleared away.
    const swap = `const { existsSync, lstatSync, renameSync, rmSync } = require("node:fs"); process.chdir(process.argv[1]); console.log("ready");
      const clear = () => { if (!existsSync("real")) return; rmSync("d", { recursive: true, force: true }); };
      for (;;) try { renameSync("d", "real"); renameSync("link", "d"); renameSync("d", "link"); renameSync("real", "d"); }
      catch { try { if (existsSync("d") && lstatSync("d").isSymbolicLink()) renameSync("d", "link"); clear(); renameSync("real", "d"); } catch {} }`;
    const swapping = spawn(process.execPath, ["-e", swap, root]);
    try {
      await new Promise((resolve) => swapping.stdout.once("data", resolve));
      const written = new Set<unknown>();
      for (let at = 0; at < 600; at++) {
        const args = { path: "d/made.txt", text: "secret", overwrite: true };
        written.add(await use("write", args).then(String, (error) => error.code));
      }
      expect([...written].some((each) => String(each).includes("d/made.txt"))).toBe(true);
      expect(written).toContain("PATH_OUTSIDE");
      expect(execFileSync("ls", ["-A", join(outside, "d")], { encoding: "utf8" })).toBe("");
    } finally {
      swapping.kill("SIGKILL");
    }
  });

  test("a link that leads nowhere is no place to make a file at", async () => {
    symlinkSync(join(outside, "not-yet"), join(root, "dangling"));
    await expect(use("write", { path: "dangling", text: "x" })).rejects.toMatchObject({ code: "PATH_MISSING" });
  });

  test("a pipe, a folder and bytes are no text, and a pipe does not block", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    writeFileSync(join(root, "bytes"), Buffer.from([1, 0, 2]));
    writeFileSync(join(root, "latin"), Buffer.from([0xe4, 0xf6]));
    mkdirSync(join(root, "folder"));
    await expect(use("read", { path: "pipe" })).rejects.toMatchObject({ code: "PATH_NOT_FILE" });
    await expect(use("read", { path: "folder" })).rejects.toMatchObject({ code: "PATH_NOT_FILE" });
    await expect(use("read", { path: "bytes" })).rejects.toMatchObject({ code: "PATH_NOT_TEXT" });
    await expect(use("read", { path: "latin" })).rejects.toMatchObject({ code: "PATH_NOT_TEXT" });
    await expect(use("read", { path: "nowhere" })).rejects.toMatchObject({ code: "PATH_MISSING" });
  });

  test("files of Git itself are not written", async () => {
    mkdirSync(join(root, ".git/hooks"), { recursive: true });
    const write = use("write", { path: ".git/hooks/pre-commit", text: "rm -rf ~" });
    await expect(write).rejects.toMatchObject({ code: "PATH_PROTECTED" });
  });
});

describe("read, list, search", () => {
  test("a long file is read in parts, and each part names the beginning of the next", async () => {
    put("long.txt", Array.from({ length: 2500 }, (_, at) => `line ${at + 1}`).join("\n"));
    const first = String(await use("read", { path: "long.txt" }));
    expect(first.split("\n").slice(-2)).toEqual(["line 2000", "[lines 1–2000 of 2500; read on with offset 2001]"]);
    expect(await use("read", { path: "long.txt", offset: 2499 })).toBe("line 2499\nline 2500");
    expect(await use("read", { path: "long.txt", offset: 9999 })).toBe("[long.txt has only 2500 lines]");
  });

  test("what .gitignore names is not there: anchored, by extension, by folder, taken back, and in folders below", async () => {
    for (const folder of ["src", "build", "src/gen", ".git", "node_modules/x"])
      mkdirSync(join(root, folder), { recursive: true });
    put(".gitignore", "*.log\n!keep.log\n/build/\nsrc/gen/**\n# a comment\n");
    put("src/.gitignore", "local.ts\n");
    for (const path of [
      "a.log",
      "keep.log",
      "build/out",
      "src/gen/g.ts",
      "src/local.ts",
      "src/main.ts",
      ".git/HEAD",
      "node_modules/x/i.js",
    ]) {
      put(path, "needle\n");
    }
    expect(await use("list", {})).toBe(".gitignore\nkeep.log\nsrc/\nsrc/.gitignore\nsrc/gen/\nsrc/main.ts");
    expect(await use("list", { path: "src", depth: 1 })).toBe("src/.gitignore\nsrc/gen/\nsrc/main.ts");
    expect(await use("search", { pattern: "nee+dle" })).toBe("keep.log:1: needle\nsrc/main.ts:1: needle");
    expect(await use("search", { pattern: "NEEDLE", path: "src/main.ts", ignoreCase: true })).toBe(
      "src/main.ts:1: needle",
    );
  });

  test("a search lists the files that it could not read", async () => {
    writeFileSync(join(root, "small.txt"), "needle\n");
    writeFileSync(join(root, "large.txt"), `${"x".repeat(8 * 1024 * 1024)}\nneedle\n`);
    writeFileSync(join(root, "picture.png"), Buffer.from([0xff, 0xfe, 0x00]));
    const note = "[too large to be searched: large.txt]";
    expect(await use("search", { pattern: "needle" })).toBe(`small.txt:1: needle\n${note}`);
    expect(await use("search", { pattern: "rope" })).toBe(`[nothing in . matches]\n${note}`);
    for (const [path, code] of [
      ["large.txt", "FILE_TOO_LARGE"],
      ["picture.png", "PATH_NOT_TEXT"],
    ])
      await expect(use("search", { pattern: "needle", path })).rejects.toMatchObject({ code });
  });

  test("a search passes by files that often hold keys, unless one of them is named", async () => {
    put(".env.local", "KEY=1\n");
    put("a.txt", "KEY=2\n");
    expect(await use("search", { pattern: "KEY" })).toBe("a.txt:1: KEY=2");
    expect(await use("search", { pattern: "KEY", path: ".env.local" })).toBe(".env.local:1: KEY=1");
  });

  test("a pattern that is none, and one that never ends, are reported; this process is not blocked meanwhile", async () => {
    put("a.txt", `${"a".repeat(40)}!\n`);
    await expect(use("search", { pattern: "(" })).rejects.toMatchObject({ code: "PATTERN_INVALID" });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 20);
    await expect(use("search", { pattern: "^(a+)+$" })).rejects.toMatchObject({ code: "PATTERN_SLOW" });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
  });
});

describe("edit, write", () => {
  test("an edit replaces exactly the named text, keeps the mode of the file, and leaves nothing beside it", async () => {
    put("run.sh", "#!/bin/sh\necho one\necho two\n");
    chmodSync(join(root, "run.sh"), 0o755);
    expect(await use("edit", { path: "run.sh", old: "one", new: "1" })).toBe("Replaced once in run.sh.");
    expect(get("run.sh")).toBe("#!/bin/sh\necho 1\necho two\n");
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
    expect(await use("edit", { path: "run.sh", old: "echo", new: "printf", all: true })).toBe(
      "Replaced 2 times in run.sh.",
    );
    expect(execFileSync("ls", ["-A", root], { encoding: "utf8" })).toBe("run.sh\n");
  });

  test("the replacement is text, not a pattern", async () => {
    put("a.txt", "price\n");
    await use("edit", { path: "a.txt", old: "price", new: "$& $1 $$" });
    expect(get("a.txt")).toBe("$& $1 $$\n");
  });

  test("a file with \\r\\n keeps it", async () => {
    put("dos.txt", "one\r\ntwo\r\nthree\r\n");
    await use("edit", { path: "dos.txt", old: "one\ntwo", new: "1\n2" });
    expect(get("dos.txt")).toBe("1\r\n2\r\nthree\r\n");
  });

  test("an edit that cannot work is refused before a person is asked, with a hint", async () => {
    put("a.txt", "x\n  two words\nx\n");
    expect(await refusal("edit", { path: "a.txt", old: "x", new: "y" })).toContain("occurs 2 times in a.txt");
    expect(await refusal("edit", { path: "a.txt", old: "two  words", new: "y" })).toContain(
      "its first line looks like line 2",
    );
    expect(await refusal("edit", { path: "a.txt", old: "", new: "y" })).toContain("would change nothing");
    expect(await refusal("edit", { path: "../a.txt", old: "x", new: "y" })).toContain("lies outside of");
    expect(await refusal("write", { path: "a.txt", text: "" })).toContain("already exists");
    expect(await refusal("edit", { path: "a.txt", old: "two", new: "2" })).toBeUndefined();
    expect(await refusal("edit", { path: "a.txt" })).toContain("is missing");
  });

  test("write makes the folders on the way, and replaces only if asked", async () => {
    expect(await use("write", { path: "a/b/c.txt", text: "hi\n" })).toBe("Made a/b/c.txt, 3 bytes.");
    await expect(use("write", { path: "a/b/c.txt", text: "ho" })).rejects.toMatchObject({ code: "FILE_EXISTS" });
    expect(await use("write", { path: "a/b/c.txt", text: "ho\n", overwrite: true })).toBe(
      "Replaced a/b/c.txt, 3 bytes.",
    );
    await expect(use("write", { path: "a", text: "ho", overwrite: true })).rejects.toMatchObject({
      code: "PATH_NOT_FILE",
    });
  });
});

/** The tools in an agent whose model makes one call. */
function asking(call: string, args: object, permissions: Parameters<typeof judgeBy>[0] = {}, unattended = false) {
  const model = scriptedModel([[{ call, args }], "done"]);
  const list: readonly Tool<unknown>[] = folderTools(
    root,
    judgeBy(permissions, () => list),
  );
  return createRunner({ agent: agent({ name: "belay", model, tools: list }), permissions, unattended });
}

async function outcome(run: { result: Promise<unknown> }, messages: () => readonly { parts: readonly object[] }[]) {
  await run.result;
  return messages().flatMap(({ parts }) => parts.filter((part) => (part as { type: string }).type === "result"));
}

describe("asking", () => {
  test("Q5: what changes something is asked for, with the diff or the command; the answer runs it", async () => {
    put("a.txt", "one\n");
    const runner = asking("edit", { path: "a.txt", old: "one", new: "two" });
    const session = await runner.open();
    expect(await session.run("go").result).toMatchObject({ status: "interrupted", interruptType: "tool_interrupt" });
    const [item] = (await runner.inbox()).items;
    expect(item).toMatchObject({ kind: "approval", tool: "edit", reason: "Edit a.txt?" });
    expect(item!.context).toMatchObject({
      base: expect.stringMatching(/^[0-9a-f]{64}$/),
      path: "a.txt",
      diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n",
    });
    expect(get("a.txt")).toBe("one\n");
    expect(await session.answer(item!.id, approve())).toEqual({ open: 0 });
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(get("a.txt")).toBe("two\n");
  });

  test("a rule in the file lets a call run unasked, and no other; the model reads a person's no", async () => {
    const permissions = { rules: [{ tool: "shell", args: { command: "echo *" }, effect: "allow" as const }] };
    const allowed = await asking("shell", { command: "echo hi" }, permissions).open();
    expect(await outcome(allowed.run("go"), () => allowed.messages)).toMatchObject([
      { outcome: "ok", output: "hi\n[exit code 0]" },
    ]);
    const runner = asking("shell", { command: "touch made" }, permissions);
    const session = await runner.open();
    await session.run("go").result;
    const [item] = (await runner.inbox()).items;
    expect(item).toMatchObject({ tool: "shell", context: { command: "touch made", folder: root } });
    const answers = { [item!.id]: reject("not now") };
    expect(await outcome(session.resume({ answers }), () => session.messages)).toMatchObject([{ outcome: "rejected" }]);
    expect(await use("list", {})).toBe("[. is empty]");
  });

  test("unattended, a call that would ask is denied, and the model reads why", async () => {
    const session = await asking("write", { path: "a", text: "x" }, {}, true).open();
    const [result] = await outcome(session.run("go"), () => session.messages);
    expect(result).toMatchObject({ outcome: "rejected" });
    expect(JSON.stringify(result)).toContain("nobody is there to be asked");
    const asked = await asking("ask_user", { question: "Which?" }, {}, true).open();
    const [told] = await outcome(asked.run("go"), () => asked.messages);
    expect(JSON.stringify(told)).toContain("nobody is there to ask");
  });

  test("read-only tools run unasked, and a deny rule holds for them too", async () => {
    put("a.txt", "one\n");
    const free = await asking("read", { path: "a.txt" }).open();
    expect(await outcome(free.run("go"), () => free.messages)).toMatchObject([{ outcome: "ok", output: "one" }]);
    const rules = [{ tool: "read", args: { path: "*.txt" }, effect: "deny" as const }];
    const denied = await asking("read", { path: "a.txt" }, { rules }).open();
    expect(await outcome(denied.run("go"), () => denied.messages)).toMatchObject([{ outcome: "rejected" }]);
  });
});

test("TC3: of two writers at once, the text that came in between is not lost: the other writer gets an error", async () => {
  const place = { before: "seen\n", mode: 0o644 };
  put("a.txt", "seen\n");
  await writeText(root, "a.txt", "fresh\n", place);
  await expect(writeText(root, "a.txt", "late\n", place)).rejects.toMatchObject({ code: "FILE_RACED" });
  await expect(writeText(root, "a.txt", "new\n", { before: undefined, mode: undefined })).rejects.toMatchObject({
    code: "FILE_RACED",
  });
  expect(get("a.txt")).toBe("fresh\n");
  expect(readdirSync(root)).toEqual(["a.txt"]);
});
