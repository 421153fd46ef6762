// Opens the requested thread, and hands it to the screen or, without one, to a single run.

import { allThreads } from "./all-threads.ts";
import type { ConsoleHere } from "./commands/console-here.ts";
import { findId } from "./commands/find.ts";
import { currentFolder, dataFolderOf } from "./data/folders.ts";
import { stillRunning } from "./data/running-commands.ts";
import { folderOfThread, readNote } from "./data/thread-notes.ts";
import type { OutputFormat } from "./headless/run-headless.ts";
import { problem, problemWords } from "./problem.ts";
import { type BelaySetup, openBelay, type SetupOptions } from "./setup.ts";
import { sanitizeLine } from "./terminal/sanitize.ts";
import { type Texts, textsFor } from "./texts/texts.ts";

export interface StartOptions extends SetupOptions {
  /** True without a text of its own. */
  readonly print?: string | true;
  readonly prompt: string | undefined;
  readonly stdin?: boolean;
  readonly continue?: boolean;
  /** True: to be chosen from a list. */
  readonly resume?: string | true;
  readonly fork?: boolean;
  readonly outputFormat: OutputFormat;
  readonly ask: "deny" | "pause";
  readonly lang?: string;
  readonly plain?: boolean;
}

/** The speed of the demo for a person that watches. */
const DEMO_DELAY_MS = 30;

export async function start(options: StartOptions): Promise<number> {
  const { stdin, stdout } = process;
  const interactive = options.print === undefined && Boolean(stdin.isTTY && stdout.isTTY);
  const goesOn = options.continue === true || options.resume !== undefined;
  const input = interactive ? options.prompt : await readInput(options, goesOn, textsFor(options.lang));
  if (!interactive && (options.resume === true || (input === undefined && !goesOn))) throw problem("NO_PROMPT", {});

  const dataFolder = dataFolderOf(options.dataFolder);
  const resumed = typeof options.resume === "string" ? folderOfThread(dataFolder, options.resume) : undefined;
  const folder = options.folder ?? resumed ?? currentFolder();
  const unattended = !interactive && options.ask === "deny";
  const delayMs = interactive ? DEMO_DELAY_MS : 0;
  const texts = textsFor(options.lang);
  const waitForServers = !interactive;
  const setupOptions = { ...options, folder, dataFolder, unattended, delayMs, waitForServers };
  const setup = await openBelay(setupOptions);
  const chosen: { elsewhere?: string } = {};
  const pages: { console?: Promise<ConsoleHere> } = {};
  const openConsole = async () => {
    const { openBrowser } = await import("./commands/listen.ts");
    pages.console ??= import("./commands/console-here.ts").then(({ consoleHere }) => consoleHere(setup, setupOptions));
    const { url } = await pages.console.catch((error: unknown) => {
      delete pages.console;
      throw error;
    });
    openBrowser(url);
    return url;
  };
  const isElsewhere = (threadId: string) => {
    const about = readNote(dataFolder, threadId)?.folder;
    if (about === undefined || about === setup.folder || options.folder !== undefined) return false;
    chosen.elsewhere = threadId;
    return true;
  };
  try {
    for (const warning of interactive ? [] : setup.warnings)
      process.stderr.write(`${sanitizeLine(problemWords(warning, texts), 2_000)}\n`);
    const threadId = await threadOf(setup, options);
    if (interactive) {
      const { runApp } = await import("./app/main.tsx");
      const code = await runApp(setup, { ...appOptions(options, threadId, input), isElsewhere, openConsole });
      if (chosen.elsewhere === undefined) return code;
    } else {
      const { runHeadless } = await import("./headless/run-headless.ts");
      if (threadId !== undefined) await warnOfLeft(setup, threadId, texts);
      const session =
        options.fork && threadId !== undefined
          ? (await setup.forkThread(threadId)).session
          : await setup.openThread(threadId);
      return await runHeadless(setup, session, { input, format: options.outputFormat, texts });
    }
  } finally {
    await pages.console?.then((here) => here.close());
    await closed(setup);
  }
  // As if it had been named: rules, servers and tools are those of its folder.
  return start({ ...options, resume: chosen.elsewhere });
}

/** Names commands of the thread that outlived a crash: without a person no choice can be made. */
async function warnOfLeft(setup: BelaySetup, threadId: string, texts: Texts): Promise<void> {
  const row = (await allThreads(setup.runner)).find((each) => each.threadId === threadId);
  const commands = row?.lease === undefined ? stillRunning(setup.dataFolder, threadId) : [];
  for (const { pid, command } of commands)
    process.stderr.write(`${sanitizeLine(texts.left.found(`pid ${pid} · ${command}`), 400)}\n`);
}

function appOptions(
  { fork, lang, plain, resume }: StartOptions,
  threadId: string | undefined,
  initial: string | undefined,
) {
  return {
    ...(threadId !== undefined && { threadId }),
    ...(fork && { fork }),
    ...(lang !== undefined && { lang }),
    ...(plain && { plain }),
    ...(initial !== undefined && { initial }),
    ...(resume === true && { pick: true }),
  };
}

/**
 * The prompt and the text that is piped in, or either of them. A pipe by which nothing comes is not waited for, unless
 * --stdin or the lack of a prompt says that something will.
 */
async function readInput(options: StartOptions, continues: boolean, texts: Texts): Promise<string | undefined> {
  const { print, prompt, stdin } = options;
  const given = typeof print === "string" ? print : prompt;
  const text = given === "-" ? "" : (given ?? "");
  const { readPipe, readStdin, stdinKind } = await import("./headless/read-stdin.ts");
  const isNeeded = stdin === true || given === "-" || (given === undefined && !continues && !process.stdin.isTTY);
  const kind = isNeeded ? "file" : stdinKind();
  const piped = kind === "file" ? await readStdin() : kind === "pipe" ? await readPipe() : "";
  if (piped === undefined) process.stderr.write(`${texts.commands.pipeSilent}\n`);
  return filled([text, piped ?? ""].filter((part) => part.trim() !== "").join("\n\n"));
}

function filled(text: string): string | undefined {
  return text.trim() === "" ? undefined : text;
}

async function threadOf(setup: BelaySetup, options: StartOptions): Promise<string | undefined> {
  if (options.resume === true || (options.resume === undefined && !options.continue)) return undefined;
  const rows = await allThreads(setup.runner);
  const ids = rows.map(({ threadId }) => threadId);
  if (options.resume !== undefined) return findId("thread", ids, options.resume);
  const last = ids.find((id) => readNote(setup.dataFolder, id)?.folder === setup.folder);
  if (last === undefined) throw problem("NO_THREAD", { folder: setup.folder });
  return last;
}

/** A tool that was left behind is not waited for. */
async function closed(setup: BelaySetup): Promise<void> {
  await Promise.race([setup.close(), new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
}
