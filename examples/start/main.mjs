// npm start: talk to an agent about a folder, stop it anywhere, and let it go on. No key, no network; nothing is written without
// your yes.
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { agent, createRunner } from "@belay/core";
import { openFolder } from "./folder.mjs";
import { answerLines } from "./lines.mjs";
import { offlineModel } from "./offline-model.mjs";
import { restoreTerminal, talk } from "./terminal.mjs";
import { cleanLine } from "./text.mjs";
import { folderTools } from "./tools.mjs";

const HELP = `An agent that you can stop at any moment, and that goes on from there.

  npm start                    talk about the folder you are in
  npm start -- path/to/folder  talk about another one
  echo "Summarise this folder" | npm start

It runs without a key and without a network: a small set of rules stands in for the
model. It reads the files of the folder; before it writes one it asks you.

  y, n, e  when it asks: yes, no (and why), or edit what it wants to do
  Enter    ask; after a stop: go on, with what you typed or exactly where it stopped
  ESC      stop it
  Ctrl-C   once: stop it; twice: quit
  Ctrl-D   quit
`;

const { stdin, stdout, env } = process;
process.exitCode = await main();
// Whatever may still be waiting, the person has gone.
stdin.destroy();

async function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help) {
    stdout.write(HELP);
    return 0;
  }
  const folder = await openFolder(options.folder);
  const interactive = Boolean(stdin.isTTY && stdout.isTTY) && env.TERM !== "dumb";
  const model = offlineModel({ delayMs: interactive ? 80 : 0 });
  const guide = agent({ name: "guide", model, tools: folderTools(folder) });
  // Without a terminal nobody is there to ask: what needs a yes is denied, and the model is told so.
  const runner = createRunner({ agent: guide, unattended: !interactive });
  const session = await runner.open();
  if (!interactive) {
    stdout.on("error", () => process.exit(0));
    await answerLines(session, { stdin, stdout });
    return 0;
  }
  guardTerminal();
  const color = env.NO_COLOR === undefined || env.NO_COLOR === "";
  await talk(session, { stdin, stdout, color, welcome: welcome(folder.root) });
  restoreTerminal(stdin, stdout);
  stdout.write(farewell(session));
  await Promise.race([runner.close(), new Promise((done) => setTimeout(done, 1000).unref())]);
  return 0;
}

function readOptions() {
  try {
    const options = { help: { type: "boolean", short: "h" } };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (positionals.length > 1) throw new Error("Give one folder, or none.");
    // npm changes to its package's folder; this is where the person was.
    const here = env.npm_lifecycle_event === "start" ? (env.INIT_CWD ?? process.cwd()) : process.cwd();
    const folder = resolve(here, positionals[0] ?? ".");
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${folder} is not a folder.`);
    return { help: values.help ?? false, folder };
  } catch (error) {
    process.stderr.write(`${cleanLine(error.message, 200)} See --help.\n`);
    return undefined;
  }
}

/** Whatever ends the program, the terminal is as it was. */
function guardTerminal() {
  process.on("exit", () => restoreTerminal(stdin, stdout));
  const fatal = (error) => {
    restoreTerminal(stdin, stdout);
    process.stderr.write(`\n${error?.stack ?? error}\n`);
    process.exit(1);
  };
  process.on("uncaughtException", fatal);
  process.on("unhandledRejection", fatal);
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ]) {
    process.on(signal, () => {
      // Below what is on the screen.
      stdout.write("\r\n");
      process.exit(code);
    });
  }
  for (const stream of [stdin, stdout]) stream.on("error", () => process.exit(1));
}

function welcome(root) {
  const home = homedir();
  const place = root === home || root.startsWith(`${home}/`) ? `~${root.slice(home.length)}` : root;
  return [
    ["belay: an agent you can stop at any moment", "bold"],
    [""],
    [
      `It reads ${cleanLine(place, 200)}, writes nothing without your yes, and needs no key: rules stand in for a model.`,
    ],
    [""],
    ["  Try     Summarise this folder", "cyan"],
    ["          Which files mention session?", "cyan"],
    ["          Write a summary to SUMMARY.md      (it asks you first)", "cyan"],
    ["  Then    press ESC while it speaks, and tell it what to do instead,", "cyan"],
    ["          for instance: focus on security", "cyan"],
    ["          Or press ESC, then Enter: it goes on from exactly there.", "cyan"],
    [""],
    ["ESC stops · Ctrl-C twice or Ctrl-D quits", "dim"],
    [""],
  ];
}

function farewell(session) {
  const inputs = session.messages.filter((message) => message.origin === "person").length;
  const kept = inputs === 0 ? "" : "The thread was in memory and ends here.\n";
  return `${kept}npm start begins a new one. In code, what you did with ESC is\nexamples/03-interrupt/main.ts, and what you said yes or no to examples/06-approval/main.ts\n`;
}
