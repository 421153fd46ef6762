#!/usr/bin/env node
// The program: reads its arguments, picks the command, and loads only that.

import { readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { CommandIo } from "./commands/command.ts";
import { currentFolder, dataFolderOf, storeProblem } from "./data/folders.ts";
import { EXIT, exitOfLost } from "./headless/exit-codes.ts";
import { Problem, problem, problemWords } from "./problem.ts";
import { languageNames, type Texts, textsFor } from "./texts/texts.ts";
import { speak } from "./usage.ts";
import { userName } from "./user-name.ts";

interface Shared {
  readonly data?: string;
  readonly config?: string;
  readonly lang?: string;
}

function program(texts: Texts): Command {
  const { usage } = texts;
  // Commands inherit the settings that the root has before they are made.
  const root = speak(new Command("belay"), usage)
    .description(usage.belay)
    .argument("[prompt...]", usage.prompt)
    .option("-p, --print [prompt]", usage.print)
    .option("--stdin", usage.stdin)
    .addOption(
      new Option("--output-format <format>", usage.outputFormat)
        .choices(["text", "json", "stream-json"])
        .default("text"),
    )
    .addOption(new Option("--ask <what>", usage.ask).choices(["deny", "pause"]).default("deny"))
    .option("-c, --continue", usage.continue)
    .option("-r, --resume [thread]", usage.resume)
    .option("--fork", usage.fork)
    .option("-m, --model <model>", usage.model)
    .option("--base-url <url>", usage.baseUrl)
    .option("-C, --folder <path>", usage.folder)
    .option("--no-mcp", usage.noMcp)
    .option("--plain", usage.plain)
    .addHelpText("after", usage.after)
    .version(version(), "-V, --version", usage.version)
    .action(async (words: string[], options) => {
      const prompt = words.length === 0 ? undefined : words.join(" ");
      if (options.print === undefined) refuseMistyped(root, words);
      const { start } = await import("./start.ts");
      const { data, ...rest } = { ...shared(root), ...options };
      process.exitCode = await start({ ...rest, prompt, ...(data !== undefined && { dataFolder: data }) });
    });

  root
    .command("threads")
    .description(usage.threads)
    .option("--here", usage.here)
    .option("--limit <n>", usage.limit, (text) => readCount(text, usage.notCount), 30)
    .option("--json", usage.jsonLines)
    .action((options) =>
      command(root, async (io) => {
        const { threads } = await import("./commands/threads.ts");
        return threads({ ...paths(root), ...options, ...(options.here && { folder: currentFolder() }) }, io);
      }),
    );

  root
    .command("inbox")
    .description(usage.inbox)
    .option("--json", usage.jsonLines)
    .action((options) =>
      command(root, async (io) => (await import("./commands/inbox.ts")).inbox({ ...paths(root), ...options }, io)),
    );

  root
    .command("answer")
    .description(usage.answer)
    .argument("<request>", usage.itsId)
    .argument("[words...]", usage.words)
    .option("--value <json>", usage.value)
    .option("--args <json>", usage.args)
    .addOption(new Option("--remember <where>", usage.remember).choices(["thread", "always", "everywhere"]))
    .option("--by <name>", usage.by, userName())
    .option("--json", usage.json)
    .option("--no-mcp", usage.answerNoMcp)
    .action((id: string, words: string[], options) =>
      command(root, async (io) => {
        const { answer } = await import("./commands/answer.ts");
        return answer({ ...paths(root), ...options, id, words: words.join(" ") }, io);
      }),
    );

  root
    .command("interrupt")
    .description(usage.interrupt)
    .argument("<thread>", usage.itsId)
    .option("--reason <text>", usage.reason)
    .option("--force", usage.force)
    .option("--by <name>", usage.stopsBy, userName())
    .option("--json", usage.json)
    .action((thread: string, options) =>
      command(root, async (io) =>
        (await import("./commands/interrupt.ts")).interrupt({ ...paths(root), ...options, thread }, io),
      ),
    );

  root
    .command("log")
    .description(usage.log)
    .argument("<thread>", usage.itsId)
    .option("-f, --follow", usage.follow)
    .option("--json", usage.logJson)
    .action((thread: string, options) =>
      command(root, async (io) => {
        const end = new AbortController();
        if (options.follow) process.once("SIGINT", () => end.abort());
        const { log } = await import("./commands/log.ts");
        return log({ ...paths(root), ...options, thread, signal: end.signal }, io);
      }),
    );

  root
    .command("export")
    .description(usage.export)
    .argument("<thread>", usage.itsId)
    .addOption(new Option("--format <format>", usage.format).choices(["markdown", "json"]).default("markdown"))
    .option("-o, --output <file>", usage.output)
    .action((thread: string, options) =>
      command(root, async (io) =>
        (await import("./commands/export.ts")).exportThread({ ...paths(root), ...options, thread }, io),
      ),
    );

  root
    .command("delete")
    .description(usage.delete)
    .argument("<thread...>", usage.itsId)
    .option("-y, --yes", usage.yes)
    .option("--json", usage.jsonLines)
    .action((threads: string[], options) =>
      command(root, async (io) =>
        (await import("./commands/delete.ts")).deleteThreads({ ...paths(root), ...options, threads }, io),
      ),
    );

  root
    .command("serve")
    .description(usage.serve)
    .option("--port <n>", usage.servePort, (text) => readPort(text, usage.notCount), 4180)
    .option("--host <address>", usage.serveHost, "127.0.0.1")
    .option("--token <token>", usage.serveToken)
    .option("--open", usage.serveOpen)
    .option("--demo", usage.serveDemo)
    .addOption(new Option("--demo-crash <folder>").hideHelp())
    .option("--work <n>", usage.serveWork, (text) => readWhole(text, usage.notCount), 8)
    .action((options) =>
      command(root, async (io) =>
        options.demo
          ? (await import("./commands/serve-demo.ts")).serveDemo(options, io)
          : (await import("./commands/serve.ts")).serve({ ...paths(root), ...root.opts(), ...options }, io),
      ),
    );

  root
    .command("work")
    .description(usage.work)
    .option("--concurrency <n>", usage.workConcurrency, (text) => readCount(text, usage.notCount), 8)
    .action((options) =>
      command(root, async (io) =>
        (await import("./commands/work.ts")).work({ ...paths(root), ...root.opts(), ...options }, io),
      ),
    );

  const rules = root
    .command("rules")
    .description(usage.rules)
    .option("--thread <thread>", usage.rulesThread)
    .option("--json", usage.json)
    .action((options) =>
      command(root, async (io) => (await import("./commands/rules.ts")).listRules({ ...paths(root), ...options }, io)),
    );
  rules
    .command("init")
    .description(usage.rulesInit)
    .action(() => command(root, async (io) => (await import("./commands/rules.ts")).initRules(paths(root), io)));
  rules
    .command("remove")
    .description(usage.rulesRemove)
    .argument("<rule>", usage.itsId)
    .option("--thread <thread>", usage.rulesRemoveThread)
    .action((id: string, options) =>
      command(root, async (io) =>
        (await import("./commands/rules.ts")).removeRule(id, { ...paths(root), ...rules.opts(), ...options }, io),
      ),
    );
  rules
    .command("keep")
    .description(usage.rulesKeep)
    .argument("<rule>", usage.itsId)
    .option("--everywhere", usage.rulesKeepEverywhere)
    .action((id: string, options) =>
      command(root, async (io) =>
        (await import("./commands/rules.ts")).keepRule(id, { ...paths(root), ...options }, io),
      ),
    );
  rules
    .command("explain")
    .description(usage.rulesExplain)
    .argument("<tool>")
    .argument("[args]", usage.json, "{}")
    .action((tool: string, args: string) =>
      command(root, async (io) => (await import("./commands/rules.ts")).explainRule(tool, args, paths(root), io)),
    );

  const mcp = root
    .command("mcp")
    .description(usage.mcp)
    .option("--json", usage.jsonLines)
    .action((options) =>
      command(root, async (io) => (await import("./commands/mcp.ts")).listServers({ ...paths(root), ...options }, io)),
    );
  mcp
    .command("login")
    .description(usage.mcpLogin)
    .argument("<server>", usage.itsName)
    .action((name: string) =>
      command(root, async (io) => (await import("./commands/mcp.ts")).login(name, paths(root), io)),
    );

  for (const each of [root, ...root.commands, ...rules.commands, ...mcp.commands]) {
    each
      .option("--data <folder>", usage.data)
      .option("--config <folder>", usage.config)
      .addOption(new Option("--lang <language>", usage.lang).choices([...languageNames]))
      .showHelpAfterError(usage.seeHelp)
      .exitOverride();
  }
  return root;
}

/** Options that every command takes, wherever they stand. */
function shared(root: Command): Shared {
  const all = [root, ...root.commands, ...root.commands.flatMap((each) => each.commands)].map((each) =>
    each.opts<Shared>(),
  );
  return Object.assign(
    {},
    ...all.map(({ data, config, lang }) => ({
      ...(data && { data }),
      ...(config && { config }),
      ...(lang && { lang }),
    })),
  );
}

function paths(root: Command): { dataFolder?: string; config?: string } {
  const { data, config } = shared(root);
  return { ...(data !== undefined && { dataFolder: data }), ...(config !== undefined && { config }) };
}

async function command(root: Command, work: (io: CommandIo) => Promise<number>): Promise<void> {
  const { stdout, stderr } = process;
  // Piped output is not cut.
  const columns = stdout.isTTY ? Math.max(40, stdout.columns ?? 80) : 10_000;
  stdout.on("error", (error) => process.exit(exitOfLost(error)));
  process.exitCode = await work({ stdout, stderr, columns, texts: textsFor(shared(root).lang) });
}

/**
 * Refuses a command that does not exist: one word alone, or the name of a command with a slip in it before other words. As a
 * prompt, a mistyped `interrupt` would stop nothing, and ask a model.
 */
function refuseMistyped(root: Command, [word, ...more]: readonly string[]): void {
  if (word === undefined || !looksLikeCommand(word)) return;
  const names = root.commands.map((each) => each.name());
  const near =
    more.length > 0
      ? names.find((name) => isSlipOf(word, name))
      : names.find((name) => name.startsWith(word.slice(0, 3)) || distance(name, word) <= 2);
  if (more.length > 0 && near === undefined) return;
  throw problem("COMMAND_UNKNOWN", { command: word, commands: names.join(", "), near });
}

/** Returns whether the text is one word in Latin letters; a sentence in Chinese has no blanks either. */
function looksLikeCommand(prompt: string): boolean {
  return /^[!-~]+$/.test(prompt);
}

/** Returns whether a word is a name with one wrong letter, or with its letters in another order. Short names are like many words. */
function isSlipOf(word: string, name: string): boolean {
  const letters = (text: string) => [...text].sort().join("");
  return name.length >= 5 && (distance(name, word) === 1 || (word !== name && letters(word) === letters(name)));
}

/** Returns the number of letters that differ. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

function readCount(text: string, otherwise: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1) throw new InvalidArgumentError(otherwise);
  return n;
}

function readWhole(text: string, otherwise: string): number {
  const n = Number(text);
  if (text.trim() === "" || !Number.isInteger(n) || n < 0) throw new InvalidArgumentError(otherwise);
  return n;
}

/** 0: any free one. */
function readPort(text: string, otherwise: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 0 || n > 65_535) throw new InvalidArgumentError(otherwise);
  return n;
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

/** Reads the language before the arguments are parsed: problems of the arguments are in that language too. */
function langOf(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((word) => word === "--lang" || word.startsWith("--lang="));
  const named = argv[at]?.startsWith("--lang=") ? argv[at].slice("--lang=".length) : argv[at + 1];
  return at >= 0 && named !== undefined && languageNames.includes(named) ? named : undefined;
}

/** Reports output that was not written, by the exit code and by stderr. */
function watchOutput(texts: Texts): { readonly code: number | undefined } {
  const lost: { code: number | undefined } = { code: undefined };
  const { stdout, stderr } = process;
  // No reader is left.
  stderr.on("error", () => {});
  // The app gets the loss of its terminal by a signal, too, and ends in its own way.
  if (stdout.isTTY) return lost;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (lost.code !== undefined) return;
    lost.code = exitOfLost(error);
    if (lost.code === EXIT.pipe) return;
    stderr.write(`${problemWords(problem("OUTPUT_LOST", { reason: error.message }), texts)}\n`);
  });
  return lost;
}

async function main(): Promise<void> {
  const texts = textsFor(langOf(process.argv));
  const lost = watchOutput(texts);
  const root = program(texts);
  try {
    await root.parseAsync(process.argv);
  } catch (error) {
    process.exitCode = await failure(error, texts, () => dataFolderOf(shared(root).data));
  }
  // An open socket, or a tool that was left behind, does not keep a program that has ended.
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(lost.code ?? process.exitCode);
}

async function failure(error: unknown, texts: Texts, dataFolder: () => string): Promise<number> {
  // Commander has printed the problem.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const { errorLines } = await import("./headless/run-headless.ts");
  process.stderr.write(`${errorLines(storeProblem(error, dataFolder), texts)}\n`);
  return error instanceof Problem && error.code !== "FILE_UNWRITABLE" ? EXIT.usage : EXIT.failed;
}

await main();
