// belay inbox: the open requests of all threads, with the details that a decision needs.

import type { DamagedRequest, InboxItem } from "@belay/core";
import { allRequests } from "../all-threads.ts";
import { readNote } from "../data/thread-notes.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import { previewOf } from "../preview.ts";
import { requestWords } from "../request-words.ts";
import { sanitize, sanitizeLine } from "../terminal/sanitize.ts";
import type { Texts } from "../texts/texts.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { ago } from "./table.ts";

export async function inbox(options: CommandOptions, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const { items, damaged } = await allRequests(desk.runner);
    const folderOf = (item: InboxItem) => readNote(desk.dataFolder, item.threadId)?.folder;
    if (options.json)
      for (const item of items) io.stdout.write(`${writeJson({ ...item, folder: folderOf(item) ?? null })}\n`);
    else {
      if (items.length === 0 && damaged.length === 0) io.stderr.write(`${io.texts.commands.inboxEmpty}\n`);
      io.stdout.write(items.map((item) => describe(item, folderOf(item), io.texts)).join("\n"));
    }
    // Reported on stderr and in the exit code: the list is not complete.
    for (const each of damaged) io.stderr.write(`${damageOf(each, io.texts)}\n`);
    return damaged.length === 0 ? EXIT.done : EXIT.failed;
  } finally {
    await desk.close();
  }
}

/** A request consists of untrusted words: they are sanitized, and indented, so that none can pass for another request. */
export function describe(item: InboxItem, folder: string | undefined, texts: Texts): string {
  const { commands, dialog, log } = texts;
  const { id, kind, threadId, raisedAt, expiresAt } = item;
  const head = `${sanitizeLine(id, 100)}  ${log.word(kind)}  ${ago(raisedAt, Date.now())}  ${commands.ofThread(sanitizeLine(threadId, 200))}`;
  const body = [sanitize(requestWords(item, texts)), ...detailOf(item)];
  // The folder of its effect.
  if (folder !== undefined) body.push(dialog.in(sanitizeLine(folder, 1_000)));
  if (expiresAt !== undefined) body.push(commands.expires(new Date(expiresAt).toISOString()));
  body.push(kind === "input" || kind === "custom" ? commands.answerText(id) : commands.answerYesNo(id));
  return [head, ...body.flatMap((text) => text.trimEnd().split("\n")).map((line) => `    ${line}`), ""].join("\n");
}

function damageOf({ id, threadId }: DamagedRequest, { commands }: Texts): string {
  const name = sanitizeLine(id, 100);
  return threadId === undefined
    ? commands.requestDamaged(name)
    : commands.requestDamagedIn(name, sanitizeLine(threadId, 200));
}

function detailOf(item: InboxItem): string[] {
  const preview = previewOf(item);
  switch (preview?.kind) {
    case "diff":
      return [sanitize(preview.diff)];
    case "command":
      return [`$ ${sanitize(preview.command)}`];
    case "args":
      return [writeJson(preview.args)];
    case undefined: {
      const { options } = (item.context ?? {}) as { readonly options?: readonly string[] };
      return Array.isArray(options) ? options.map((option) => `- ${sanitizeLine(String(option), 400)}`) : [];
    }
    default:
      return preview satisfies never;
  }
}
