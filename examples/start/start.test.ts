import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureBuilt } from "../../scripts/ensure.mjs";
import { CTRL_C, CTRL_D, ENTER, ESC, openTerminal, type Terminal } from "./terminal-kit.ts";

const main = fileURLToPath(new URL("main.mjs", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const WAITING = "Interrupted. What should I do instead? (Enter = go on)";
const LAST_WORDS = "which of them mention a word.";

// Beside the folder lies what it must never show.
const place = mkdtempSync(join(tmpdir(), "belay-start-"));
const folder = join(place, "folder");
const terminals: Terminal[] = [];

beforeAll(async () => {
  await ensureBuilt();
  for (const path of ["outside", "folder/src", "folder/node_modules"])
    mkdirSync(join(place, path), { recursive: true });
  const write = (path: string, text: string) => writeFileSync(join(place, path), text);
  write("sibling.txt", "PRIVATE");
  write("outside/private.txt", "PRIVATE");
  write("folder/README.md", "# Shop\n\nA shop that sells ropes to climbers, and takes them back.\n");
  write("folder/src/login.ts", "// One session for each token.\nexport const token = 1;\n");
  write("folder/src/shop.ts", "// A session is a visit.\n");
  write("folder/hostile.txt", `hostile ${ESC}]0;pwned\u0007${ESC}[2J${ESC}[31mred\u009b5m \u202egnp\n`);
  write("folder/node_modules/dependency.ts", "session");
  symlinkSync(join(place, "outside/private.txt"), join(folder, "link.txt"));
  symlinkSync(join(place, "outside"), join(folder, "linked"));
}, 120_000);

afterAll(() => {
  for (const terminal of terminals) terminal.kill();
  rmSync(place, { recursive: true, force: true });
});

function open(command = process.execPath, args = [main]): Terminal {
  const terminal = openTerminal(command, args, folder);
  terminals.push(terminal);
  return terminal;
}

async function ask(question: string, until: string): Promise<Terminal> {
  const terminal = open();
  await terminal.until("›");
  terminal.press(question);
  await terminal.until(`› ${question}`);
  terminal.press(ENTER);
  await terminal.until(until);
  return terminal;
}

describe.concurrent("npm start, at a terminal", { timeout: 60_000 }, () => {
  test("ESC stops the answer in the middle, and a new instruction takes it elsewhere", async ({ expect }) => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(ESC);
    const stopped = await terminal.until(WAITING);
    expect(stopped).not.toContain(LAST_WORDS);
    await sleep(300);
    expect(terminal.text()).toBe(stopped);
    terminal.press(`focus on security${ENTER}`);
    await terminal.until("You stopped me at");
    const text = await terminal.until(/I would begin with src\/login\.ts: [^›]*›$/);
    expect(text).toContain("✓ search_text token · 2 lines");
    expect(text).not.toContain(LAST_WORDS);
  });

  test("ESC, then Enter: the answer goes on with the very next word", async ({ expect }) => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(ESC);
    await terminal.until(WAITING);
    terminal.press(ENTER);
    await terminal.until(LAST_WORDS);
    const screen = await terminal.until(/›$/);
    const said = screen.slice(screen.indexOf("This folder has")).replace(`${WAITING} › (go on) … `, "");
    const { stdout } = await pipe("Summarise this folder\n");
    expect(said).toBe(`${stdout.slice(stdout.indexOf("This folder has")).replace(/\s+/g, " ").trim()} ›`);
  });

  test("any number of ESCs is one stop", async ({ expect }) => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(ESC + ESC);
    await sleep(20);
    terminal.press(ESC);
    await terminal.until(WAITING);
    terminal.press(ESC);
    await sleep(200);
    expect(terminal.text().split(WAITING)).toHaveLength(2);
    terminal.press(ENTER);
    await terminal.until(LAST_WORDS);
  });

  test("an arrow key is no ESC, also when its bytes come one after the other", async ({ expect }) => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(ESC);
    await sleep(5);
    terminal.press("[A");
    terminal.press(`${ESC}[B${ESC}OC${ESC}[1;5D`);
    expect(await terminal.until(LAST_WORDS)).not.toContain(WAITING);
  });

  test("Ctrl-C once stops the answer, twice quits and gives the terminal back", async ({ expect }) => {
    const terminal = open("bash", ["--norc", "-c", `"${process.execPath}" "${main}"; echo "exit $?"; stty -a`]);
    await terminal.until("›");
    terminal.press(`Summarise this folder${ENTER}`);
    await terminal.until("This folder has");
    terminal.press(CTRL_C);
    await terminal.until(WAITING);
    await terminal.until("Ctrl-C again quits");
    terminal.press(CTRL_C);
    expect(await terminal.exited).toBe(0);
    await terminal.until("npm start begins a new one");
    await terminal.until("exit 0");
    await untilRestored(terminal);
  });

  test("Ctrl-C twice in the middle of an answer quits too", async ({ expect }) => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(CTRL_C + CTRL_C);
    expect(await terminal.exited).toBe(0);
    await terminal.until("npm start begins a new one");
  });

  test("Ctrl-D quits, with nothing asked and in the middle of an answer", async ({ expect }) => {
    const idle = open();
    await idle.until("›");
    idle.press(CTRL_D);
    expect(await idle.exited).toBe(0);
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });

  test.for([
    ["TERM", 143],
    ["HUP", 129],
  ] as const)("SIG%s in the middle of an answer gives the terminal back", async ([signal, code]) => {
    const pid = join(place, `${signal}.pid`);
    const inner = `echo $$ > '${pid}'; exec '${process.execPath}' '${main}'`;
    const terminal = open("bash", [
      "--norc",
      "-c",
      `bash -c "${inner.replace("$$", "\\$\\$")}"; echo "exit $?"; stty -a`,
    ]);
    await terminal.until("›");
    terminal.press(`Summarise this folder${ENTER}`);
    await terminal.until("This folder has");
    process.kill(Number(readFileSync(pid, "utf8")), `SIG${signal}`);
    await terminal.until(`exit ${code}`);
    await untilRestored(terminal);
  });

  test("what is typed while it speaks waits on the line", async () => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.press(`tests${ENTER}`);
    await terminal.until("› tests");
    terminal.press(ESC);
    await terminal.until(/\(Enter = go on\) › tests$/);
    terminal.press(ENTER);
    await terminal.until("I look at tests.");
  });

  test("nonsense does no harm: bytes that are no text, unknown keys, a pasted page, an empty question", async ({
    expect,
  }) => {
    const terminal = open();
    await terminal.until("›");
    terminal.press(`${ENTER}${ENTER}   ${ENTER}\u0000\u0001\u0002${ESC}[999;999Zx${ESC}q`);
    terminal.press(`${ESC}[200~two\r\nlines${ESC}[201~ ${"very ".repeat(300)}long`);
    await terminal.until("very long");
    terminal.press("\u0015");
    terminal.press(`?!${ENTER}`);
    await terminal.until("that part is real.");
    terminal.press(`🧗‍♀️ 岩登り${ENTER}`);
    expect(await terminal.until("Nothing in this folder speaks of that.")).toContain("› 🧗");
  });

  test("a terminal that becomes narrow and wide again keeps every word", async ({ expect }) => {
    const terminal = await ask("Summarise this folder", "This folder has");
    terminal.resize(34, 20);
    await sleep(200);
    terminal.resize(100, 30);
    expect(await terminal.until(LAST_WORDS)).toContain("“A shop that sells ropes to climbers, and takes them back.”");
  });

  test("what a file says cannot draw on the terminal", async ({ expect }) => {
    const terminal = await ask("read hostile.txt", "It has 2 lines.");
    expect(terminal.raw).not.toContain("pwned");
    expect(terminal.raw).not.toContain(`${ESC}[2J`);
    expect(terminal.text()).toContain("hostile red gnp It has");
  });

  test("it works the same through npm start's own script", async ({ expect }) => {
    const terminal = open(process.execPath, [join(root, "scripts/start.mjs"), folder]);
    await terminal.until("›");
    terminal.press(`Summarise this folder${ENTER}`);
    await terminal.until("This folder has");
    terminal.press(ESC);
    await terminal.until(WAITING);
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });
});

describe.concurrent("npm start asks before it writes", { timeout: 60_000 }, () => {
  const QUESTION = "Write SUMMARY.md, 4 lines? y / n / e(dit) · ESC: never mind ›";

  /** A folder of its own, in which the agent wants to write; `files` is what is in it now. */
  async function wants(): Promise<Terminal & { files(): string[] }> {
    const own = mkdtempSync(join(place, "write-"));
    writeFileSync(join(own, "notes.txt"), "notes");
    writeFileSync(join(own, `a.${ESC}]0;pwned\u0007md`), "");
    const terminal = openTerminal(process.execPath, [main], own);
    terminals.push(terminal);
    await terminal.until("›");
    terminal.press(`Write a summary to SUMMARY.md${ENTER}`);
    await terminal.until(QUESTION);
    return Object.assign(terminal, { files: () => readdirSync(own).filter((name) => !name.startsWith("a.")) });
  }

  test("the person sees what would be written; y lets it happen", async ({ expect }) => {
    const terminal = await wants();
    expect(terminal.text()).toContain("│ # What is here │ │ - .\\u{1b}]0;pwned\\u{7}md: 1 file │ - .txt: 1 file Write");
    expect(terminal.raw).not.toContain(`${ESC}]0;`);
    expect(terminal.files()).toEqual(["notes.txt"]);
    terminal.press(`y${ENTER}`);
    await terminal.until(/✓ write_file SUMMARY\.md · 55 bytes SUMMARY\.md is there now, 55 bytes\. ›$/);
    expect(terminal.files()).toEqual(["SUMMARY.md", "notes.txt"]);
  });

  test("n with a reason: nothing is written, and the model is told why", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(`no, it is late${ENTER}`);
    await terminal.until("I have written nothing. Not executed: a person rejected it: it is late");
    expect(terminal.files()).toEqual(["notes.txt"]);
  });

  test("e changes what is written; what the tool refuses then is told, too", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(`e${ENTER}`);
    await terminal.until("path › SUMMARY.md");
    terminal.press(ESC);
    await terminal.until(/never mind ›$/);
    terminal.press(`e${ENTER}`);
    await terminal.until(/path › SUMMARY.md$/);
    terminal.press(`\u0015HERE.md${ENTER}`);
    await terminal.until("As you wanted it: HERE.md is there now, 55 bytes.");
    expect(terminal.files()).toEqual(["HERE.md", "notes.txt"]);
    for (const [path, refusal] of [
      ["notes.txt", "notes.txt is there already, and I overwrite nothing."],
      ["../out.txt", "../out.txt is not in this folder."],
      [".profile", ".profile is no name for a file here."],
    ]) {
      terminal.press(`Write it to SUMMARY.md${ENTER}`);
      await terminal.until(/lines\? y \/ n \/ e\(dit\) · ESC: never mind ›$/);
      terminal.press(`e${ENTER}`);
      await terminal.until(/path › SUMMARY.md$/);
      terminal.press(`\u0015${path}${ENTER}`);
      await terminal.until(`${refusal} ›`);
    }
    expect(terminal.files()).toEqual(["HERE.md", "notes.txt"]);
  });

  test("ESC withdraws the question: a yes comes too late, and the run goes on without it", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(ESC + ESC);
    await terminal.until(`${WAITING} ›`);
    terminal.press(ENTER);
    await terminal.until(/I have written nothing\. .*›$/);
    expect(terminal.files()).toEqual(["notes.txt"]);
  });

  test("something else instead of an answer is a new instruction; only a plain yes is a yes", async ({ expect }) => {
    const terminal = await wants();
    terminal.press(`${ENTER}${ENTER}yes but first list the files${ENTER}`);
    await terminal.until("2 files:");
    expect(terminal.files()).toEqual(["notes.txt"]);
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });

  test("Ctrl-D and Ctrl-C twice quit while it asks, and nothing is written", async ({ expect }) => {
    for (const keys of [CTRL_D, CTRL_C + CTRL_C]) {
      const terminal = await wants();
      terminal.press(keys);
      expect(await terminal.exited).toBe(0);
      expect(terminal.files()).toEqual(["notes.txt"]);
    }
  });
});

describe.concurrent("npm start, without a terminal", { timeout: 60_000 }, () => {
  test("each line is a question; what comes out is plain text", async ({ expect }) => {
    const { stdout, code } = await pipe("Which files mention session?\n\n  \nasdf\n");
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.slice(0, 75))).toEqual([
      "› Which files mention session?",
      "I search for “session”.",
      "→ search_text session",
      "← search_text session · 2 lines",
      "2 lines in 2 files mention “session”:",
      "- src/login.ts: 1 line, first in line 1: // One session for each token.",
      "- src/shop.ts: 1 line, first in line 1: // A session is a visit.",
      "",
      "› asdf",
      "I search for “asdf”.",
      "→ search_text asdf",
      "← search_text asdf · 0 lines",
      "Nothing in this folder speaks of that. I am no real model: I follow a few r",
      "",
      "",
    ]);
  });

  test("nobody is there to ask: nothing is written, and the model is told", async ({ expect }) => {
    const { stdout } = await pipe("Write a summary to SUMMARY.md\n");
    expect(stdout).toContain("I have written nothing. Not executed: write_file is denied because nobody is there");
    expect(readdirSync(folder)).not.toContain("SUMMARY.md");
  });

  test.for(["../sibling.txt", "link.txt", "linked/private.txt", "/etc/hostname", "src/../../sibling.txt"])(
    "nothing outside of the folder is read: %s",
    async (path, { expect }) => {
      const { stdout } = await pipe(`read ${path}\nfind PRIVATE\n`);
      expect(stdout).toContain("is not in this folder.");
      expect(stdout).toContain("No file here mentions “PRIVATE”.");
    },
  );

  test("--help says what the keys do; what it does not know it refuses", async ({ expect }) => {
    expect((await pipe("", ["--help"])).stdout).toContain("Ctrl-D   quit");
    expect(await pipe("", ["--colour"])).toMatchObject({ code: 2, stdout: "" });
    expect(await pipe("", ["no/such/folder"])).toMatchObject({ code: 2, stdout: "" });
  });
});

/** The program was followed by `stty -a`. */
async function untilRestored(terminal: Terminal): Promise<void> {
  await terminal.until(/ isig icanon iexten echo /);
  const { raw } = terminal;
  for (const [on, off] of [
    [`${ESC}[?2004h`, `${ESC}[?2004l`],
    [`${ESC}[?25l`, `${ESC}[?25h`],
  ] as const) {
    if (raw.lastIndexOf(on) > raw.lastIndexOf(off)) throw new Error(`${JSON.stringify(on)} was left on`);
  }
}

function pipe(input: string, args: readonly string[] = []): Promise<{ code: unknown; stdout: string }> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { cwd: folder, env }, (error, stdout) =>
      resolve({ code: error ? error.code : 0, stdout }),
    );
    child.stdin?.end(input);
  });
}
