// belay answer: answers a request from any terminal. The process that has the thread takes the answer; if no process
// has it, the approved call runs here, in the folder of its thread, and this command waits for its end. After a signal
// before that, it stops the call: no process that it started outlives it, and requests to other people stay open.

import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, approve, BelayError, type InboxItem, type Json, type Runner, reject, respond } from "@belay/core";
import { allRequests } from "../all-threads.ts";
import { dataFolderOf } from "../data/folders.ts";
import { checkFolder, readFolder } from "../data/thread-notes.ts";
import { factsOf } from "../facts.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { type ToldToEnd, toldToEnd } from "../headless/told-to-end.ts";
import { writeJson } from "../headless/write-json.ts";
import { lastStop } from "../last-stop.ts";
import { problem } from "../problem.ts";
import { runBy } from "../run-by.ts";
import { openBelay, type SetupOptions } from "../setup.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { type Decided, decidedIn, decidedLately, decidedWords } from "./decided.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";

export interface AnswerCommand extends CommandOptions, Pick<SetupOptions, "config" | "mcp"> {
  readonly id: string;
  /** "yes", "no because …", or the answer to a question. */
  readonly words: string;
  /** An answer that is not text, as JSON; for an approval, a result in place of the call. */
  readonly value?: string;
  /** Other arguments to run with, as JSON. */
  readonly args?: string;
  /** `always`: in the folder of the thread. */
  readonly remember?: "thread" | "always" | "everywhere";
  readonly by: string;
}

/** Another answer was first. */
const OVER: ReadonlySet<string> = new Set(["ANSWER_TAKEN", "ANSWER_WITHDRAWN", "ANSWER_EXPIRED"]);

/** How often to look whether the call has ended. */
const LOOK_EVERY_MS = 20;
/** How long the call may take to end after a signal to this command. */
const GRACE_MS = 500;
/** How long an answer that is under way is waited for then. */
const TAKEN_MS = 1_500;

export async function answer(options: AnswerCommand, io: CommandIo): Promise<number> {
  const dataFolder = dataFolderOf(options.dataFolder);
  const found = await read(dataFolder, options);
  if ("decided" in found) return tellDecided(found.decided, io);
  const { item, said } = found;
  const folder = readFolder(dataFolder, item.threadId);
  // No word is asked of a model here, and servers are only needed for their own calls.
  const mcp = options.mcp !== false && item.tool?.includes("__") === true;
  const setup = await openBelay({
    ...options,
    dataFolder,
    model: "demo",
    mcp,
    ...(folder !== undefined && { folder }),
  });
  const told = toldToEnd(process, ["SIGINT", "SIGTERM", "SIGHUP"]);
  try {
    // It may have become a link to another one just now.
    checkFolder(dataFolder, item.threadId, setup.folder);
    const taken = await Promise.race([setup.runner.answer(item.id, said), tooLate(told)]);
    if (taken === undefined) return told.code!;
    const lasting = said.type === "approve" && options.remember !== "thread" ? options.remember : undefined;
    if (lasting !== undefined && item.tool !== undefined) {
      const call = { tool: item.tool, args: (said as { args?: Json }).args ?? item.args ?? {} };
      setup.remember(call, lasting === "always" ? "folder" : "everywhere", options.by);
    }
    await untilEnded(setup.runner, item.threadId, told, options.by);
    const { open } = taken;
    const { commands, log } = io.texts;
    if (options.json)
      io.stdout.write(`${writeJson({ id: item.id, threadId: item.threadId, answer: said.type, open })}\n`);
    else
      io.stdout.write(
        `${commands.answered(log.word(said.type), open)}\n${open === 0 ? `${commands.goOn(item.threadId)}\n` : ""}`,
      );
    return told.code ?? EXIT.done;
  } catch (error) {
    const over = error instanceof BelayError && OVER.has(error.code);
    const decided = over ? decidedIn(await factsOf(setup.runner, item.threadId)).get(item.id) : undefined;
    if (decided === undefined) throw error;
    return tellDecided(decided, io);
  } finally {
    await setup.close();
    told.end();
  }
}

function tellDecided(decided: Decided, io: CommandIo): number {
  io.stderr.write(`${decidedWords(decided, io.texts)}\n`);
  return EXIT.failed;
}

/** The process that has the thread may take the answer late: it waits in the store. */
async function tooLate({ signal }: ToldToEnd): Promise<undefined> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await sleep(TAKEN_MS, undefined, { ref: false });
}

/** Resolves when the thread is released here: the call of the answer has ended. */
async function untilEnded(runner: Runner, threadId: string, { signal }: ToldToEnd, by: string): Promise<void> {
  while ((await runBy(runner, threadId)) === "us") {
    if (signal.aborted) {
      const reason = String(signal.reason);
      await lastStop(runner, await runner.open(threadId), { reason, graceMs: GRACE_MS, by });
      return;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

type Found = { readonly item: InboxItem; readonly said: Answer } | { readonly decided: Decided };

/** Read before anything is opened that could run something. */
async function read(dataFolder: string, options: AnswerCommand): Promise<Found> {
  const desk = await openDesk({ dataFolder });
  try {
    const { items, damaged } = await allRequests(desk.runner);
    const open = [...items, ...damaged].map((each) => each.id);
    if (!open.some((each) => each.startsWith(options.id))) {
      const decided = await decidedLately(desk.runner);
      return { decided: decided.get(findId("request", [...decided.keys()], options.id))! };
    }
    const id = findId("request", open, options.id);
    const item = items.find((each) => each.id === id);
    if (item === undefined) throw problem("REQUEST_DAMAGED", { id });
    return { item, said: saidOf(item, options) };
  } finally {
    await desk.close();
  }
}

/** Only a plain yes is a yes. */
export function saidOf(
  { kind }: Pick<InboxItem, "kind">,
  { words, value, args, remember, by }: Omit<AnswerCommand, "id">,
): Answer {
  if (value !== undefined) return respond(readJson("--value", value), { by });
  const isQuestion = kind === "input" || kind === "custom";
  if (isQuestion && words.trim() !== "") return respond(words, { by });
  const [, no] = /^(?:no|n|reject|skip)\b[\s,:;.!-]*(.*)$/is.exec(words.trim()) ?? [];
  if (no !== undefined) return reject(no, { by });
  if (!isQuestion && /^(?:yes|y|approve|again)[.!]?$/i.test(words.trim())) {
    return approve({
      by,
      ...(args !== undefined && { args: readJson("--args", args) }),
      ...(remember === "thread" && { remember }),
    });
  }
  throw problem("ANSWER_UNCLEAR", { words });
}

function readJson(option: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw problem("OPTION_NOT_JSON", { option, reason: (error as Error).message }, error);
  }
}
