#!/usr/bin/env node
// The program: reads its arguments, picks what to do, and loads only that.

import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { CommandIo } from "./commands/command.ts";
import { EXIT } from "./headless/exit-codes.ts";
import { Problem, problem } from "./problem.ts";
import { languageNames, textsFor } from "./texts/texts.ts";

interface Shared {
  readonly data?: string;
  readonly config?: string;
  readonly lang?: string;
}

const AFTER_HELP = `
Without --print it opens the app; with input by a pipe, or without a terminal, it answers once and ends.
A text with a blank in it is a prompt: belay "what is in this folder?"

Models: --model, else ANTHROPIC_API_KEY, else OPENAI_API_KEY, else Ollama or LM Studio on this machine,
else an offline demo that needs no key.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 paused and waits for a person, 130 interrupted,
141 the reader of the output went away, 143 told to end by SIGTERM or SIGHUP.`;

function program(): Command {
  const root = new Command("belay")
    .description("An agent in the terminal whose stop button really stops.")
    .argument("[prompt...]", "what to begin with")
    .option("-p, --print [prompt]", "answer without the app: a prompt, or - for standard input")
    .option("--stdin", "add standard input to the prompt of --print")
    .addOption(
      new Option("--output-format <format>", "what --print writes")
        .choices(["text", "json", "stream-json"])
        .default("text"),
    )
    .addOption(
      new Option("--ask <what>", "with --print: deny what needs a person, or pause there (exit code 3)")
        .choices(["deny", "pause"])
        .default("deny"),
    )
    .option("-c, --continue", "go on with the last thread of this folder")
    .option("-r, --resume [thread]", "go on with a thread, by its id or the beginning of it; without one, choose")
    .option("--fork", "with --continue or --resume: in a new thread with the same past")
    .option("-m, --model <model>", "anthropic/name, openai/name, ollama/name, lmstudio/name or demo")
    .option("--base-url <url>", "a server that speaks OpenAI's protocol; --model is then a name of that server")
    .option("-C, --folder <path>", "the folder to work in")
    .option("--no-mcp", "without the MCP servers of mcp.json and .mcp.json")
    .option("--plain", "without redrawing, for screen readers")
    .addHelpText("after", AFTER_HELP)
    .version(version(), "-V, --version", "print the version")
    .action(async (words: string[], options) => {
      const prompt = words.length === 0 ? undefined : words.join(" ");
      if (prompt !== undefined && options.print === undefined && !/\s/.test(prompt)) unknownCommand(root, prompt);
      const { start } = await import("./start.ts");
      const { data, ...rest } = { ...shared(root), ...options };
      process.exitCode = await start({ ...rest, prompt, ...(data !== undefined && { dataFolder: data }) });
    });

  root
    .command("threads")
    .description("list the threads, the last changed first")
    .option("--here", "only those of this folder")
    .option("--limit <n>", "how many", readCount, 30)
    .option("--json", "as JSON, one a line")
    .action((options) =>
      command(root, async (io) => {
        const { threads } = await import("./commands/threads.ts");
        return threads({ ...paths(root), ...options, ...(options.here && { folder: process.cwd() }) }, io);
      }),
    );

  root
    .command("inbox")
    .description("list what waits for a person, over all threads")
    .option("--json", "as JSON, one a line")
    .action((options) =>
      command(root, async (io) => (await import("./commands/inbox.ts")).inbox({ ...paths(root), ...options }, io)),
    );

  root
    .command("answer")
    .description("answer a request: yes, no and why, or the answer to a question")
    .argument("<request>", "its id, or the beginning of it")
    .argument("[words...]", "yes · no, because … · the answer")
    .option("--value <json>", "an answer that is no text; for an approval, what stands for the result")
    .option("--args <json>", "with yes: other arguments to run with")
    .addOption(new Option("--remember <where>", "with yes: allow the same from now on").choices(["thread", "always"]))
    .option("--by <name>", "who answers", userName())
    .option("--json", "as JSON")
    .option("--no-mcp", "without MCP servers")
    .action((id: string, words: string[], options) =>
      command(root, async (io) => {
        const { answer } = await import("./commands/answer.ts");
        return answer({ ...paths(root), ...options, id, words: words.join(" ") }, io);
      }),
    );

  root
    .command("interrupt")
    .description("stop a thread's run, whichever terminal it is in")
    .argument("<thread>", "its id, or the beginning of it")
    .option("--reason <text>", "for the record")
    .option("--force", "do not wait for tools")
    .option("--by <name>", "who stops it", userName())
    .option("--json", "as JSON")
    .action((thread: string, options) =>
      command(root, async (io) =>
        (await import("./commands/interrupt.ts")).interrupt({ ...paths(root), ...options, thread }, io),
      ),
    );

  root
    .command("log")
    .description("show a thread as a timeline")
    .argument("<thread>", "its id, or the beginning of it")
    .option("-f, --follow", "go on with what happens")
    .option("--json", "the facts of its journal as JSON, one a line")
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
    .description("write a thread as a page")
    .argument("<thread>", "its id, or the beginning of it")
    .addOption(new Option("--format <format>", "of the page").choices(["markdown", "json"]).default("markdown"))
    .option("-o, --output <file>", "where to; standard output by default")
    .action((thread: string, options) =>
      command(root, async (io) =>
        (await import("./commands/export.ts")).exportThread({ ...paths(root), ...options, thread }, io),
      ),
    );

  const rules = root
    .command("rules")
    .description("show what may run without asking")
    .option("--thread <thread>", "also what was remembered there")
    .option("--json", "as JSON")
    .action((options) =>
      command(root, async (io) => (await import("./commands/rules.ts")).listRules({ ...paths(root), ...options }, io)),
    );
  rules
    .command("init")
    .description("write the built-in rules into a file to edit")
    .action(() => command(root, async (io) => (await import("./commands/rules.ts")).initRules(paths(root), io)));
  rules
    .command("remove")
    .description("forget a rule that was remembered")
    .argument("<rule>", "its id, or the beginning of it")
    .option("--thread <thread>", "one that was remembered there")
    .action((id: string, options) =>
      command(root, async (io) =>
        (await import("./commands/rules.ts")).removeRule(id, { ...paths(root), ...rules.opts(), ...options }, io),
      ),
    );
  rules
    .command("explain")
    .description("say what the rules of the file make of a call")
    .argument("<tool>")
    .argument("[args]", "as JSON", "{}")
    .action((tool: string, args: string) =>
      command(root, async (io) => (await import("./commands/rules.ts")).explainRule(tool, args, paths(root), io)),
    );

  const mcp = root
    .command("mcp")
    .description("list the MCP servers and their tools")
    .option("--json", "as JSON, one a line")
    .action((options) =>
      command(root, async (io) => (await import("./commands/mcp.ts")).listServers({ ...paths(root), ...options }, io)),
    );
  mcp
    .command("login")
    .description("sign in at a server on the web, in a browser")
    .argument("<server>", "its name, or the beginning of it")
    .action((name: string) =>
      command(root, async (io) => (await import("./commands/mcp.ts")).login(name, paths(root), io)),
    );

  for (const each of [root, ...root.commands, ...rules.commands, ...mcp.commands]) {
    each
      .option("--data <folder>", "where threads are kept")
      .option("--config <folder>", "where permissions.json and mcp.json are")
      .addOption(new Option("--lang <language>", "of the interface").choices([...languageNames]))
      .showHelpAfterError("See belay --help.")
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
  // What is piped on is not cut.
  const columns = stdout.isTTY ? Math.max(40, stdout.columns ?? 80) : 10_000;
  stdout.on("error", () => process.exit(EXIT.pipe));
  process.exitCode = await work({ stdout, stderr, columns, texts: textsFor(shared(root).lang) });
}

function unknownCommand(root: Command, word: string): never {
  const names = root.commands.map((each) => each.name());
  const near = names.find((name) => name.startsWith(word.slice(0, 3)) || distance(name, word) <= 2);
  const hint = near === undefined ? `The commands are ${names.join(", ")}.` : `Did you mean ${near}?`;
  throw problem("COMMAND_UNKNOWN", { command: word, hint });
}

/** How many letters differ. */
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

function readCount(text: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return n;
}

function userName(): string {
  try {
    return userInfo().username || "user";
  } catch {
    return "user";
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

async function main(): Promise<void> {
  try {
    await program().parseAsync(process.argv);
  } catch (error) {
    process.exitCode = await failure(error);
  }
  // Whatever is still open, a socket or a tool that was left behind, does not keep a program that has ended.
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit();
}

async function failure(error: unknown): Promise<number> {
  // Commander has said what is wrong.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const { errorLines } = await import("./headless/run-headless.ts");
  process.stderr.write(`${errorLines(error)}\n`);
  return error instanceof Problem ? EXIT.usage : EXIT.failed;
}

await main();
