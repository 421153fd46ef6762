// Requests that wait for the person: one is open, the others are a key away. Invariants:
// 1. Nothing is granted by a letter. A letter moves the cursor to its choice, and Enter confirms.
// 2. Words are words, at any speed: letters that follow each other become a draft, and a draft answers nothing.
// 3. Keys count only when the person has seen the request: not in its first moment, and not beside a draft.
// 4. A grant that lasts shows the rule that it makes before Enter confirms it.

import type { Interrupt, Json } from "@belay/core";
import type { Key } from "../keys/decoder.ts";
import { patternOf, type RulePattern, type Scope } from "../permissions/remember.ts";
import { previewOf } from "../preview.ts";
import type { Texts } from "../texts/texts.ts";
import { edit, editorOf, emptyEditor } from "./editor.ts";
import { innerColumns, previewRows } from "./preview-rows.ts";
import { type Dialog, type DialogAnswer, type Effect, type Step, still, type View } from "./view.ts";

export const UNSEEN_MS = 300;
/** Slower than typing, faster than a second thought. */
const TYPING_MS = 1_000;
/** The number of rows that a page key scrolls. */
const PAGE = 8;

/** A way to answer; its letter moves the cursor to it. */
export interface Choice {
  readonly key: string;
  readonly label: string;
  readonly does: "once" | "thread" | Scope | "accept" | "edit" | "no" | "value" | "write";
  readonly value?: Json;
}

/** The dialog for the first request that is open, where none is shown. */
export function openDialog(view: View): View {
  if (view.dialog !== undefined) return view;
  const [first] = view.requests;
  return first === undefined ? view : { ...view, dialog: dialogFor(first, view.now) };
}

function dialogFor(request: Interrupt, since: number): Dialog {
  const mode = request.kind === "approval" || request.kind === "unknown" || hasValues(request) ? "choose" : "answer";
  return { id: request.id, since, cursor: 0, mode, editor: emptyEditor, scroll: 0 };
}

export function requestOf(view: View): Interrupt | undefined {
  return view.requests.find(({ id }) => id === view.dialog?.id);
}

/** Whether keys go to the dialog. */
export function takesKeys(view: View): boolean {
  return view.dialog !== undefined && view.popup === undefined && view.draft.text === "";
}

/** Notes that words were sent under the request: one more Enter belongs to them, for as long as letters do. */
export function afterWords(view: View): View {
  const { dialog } = view;
  return dialog === undefined ? view : { ...view, dialog: { ...dialog, since: view.now + TYPING_MS - UNSEEN_MS } };
}

/** Returns whether a key comes too early to be meant for the dialog: then letters become a draft, and Enter has no effect. */
export function isUnseen(view: View, key: Key, now: number): boolean {
  const { dialog, draftAt } = view;
  const soon = dialog !== undefined && now - Math.max(dialog.since, draftAt) < UNSEEN_MS;
  return soon && (key.name === "text" || key.name === "paste");
}

export function choicesOf(request: Interrupt, texts: Texts): readonly Choice[] {
  const { dialog } = texts;
  if (request.kind === "unknown") {
    return [
      { key: "r", label: dialog.again, does: "once" },
      { key: "g", label: dialog.result, does: "write" },
      { key: "s", label: dialog.skip, does: "no" },
    ];
  }
  if (request.kind === "approval") {
    return [
      { key: "y", label: dialog.once, does: "once" },
      ...lastingOf(request, texts),
      // An approval inside of a call is about that call as it is.
      ...(isCall(request) ? [{ key: "e", label: dialog.edit, does: "edit" } as const] : []),
      { key: "n", label: dialog.no, does: "no" },
    ];
  }
  const values = valuesOf(request, texts).map(([label, value], at) => ({
    key: String(at + 1),
    label,
    does: "value" as const,
    value,
  }));
  return values.length === 0 ? [] : [...values, { key: "w", label: dialog.words, does: "write" }];
}

/** Only a call can be remembered; without one there is no rule to make. */
function isCall({ tool, key }: Interrupt): boolean {
  return tool !== undefined && key === undefined;
}

/** Ways to say yes to more than this call. */
function lastingOf(request: Interrupt, { dialog }: Texts): readonly Choice[] {
  const { tool = "", context } = request;
  if (!isCall(request)) return [];
  if (tool === "edit" || tool === "write") return [{ key: "s", label: dialog.accept, does: "accept" }];
  const { path, leadsTo = path } = (isFields(context) ? context : {}) as { path?: Json; leadsTo?: Json };
  // The target of a link may change.
  if (path !== leadsTo) return [];
  const looks = tool === "read" || tool === "list" || tool === "search";
  const prefix = ruleOf(request, "prefix")?.args.command;
  return [
    ...(looks ? [] : [{ key: "t", label: dialog.thread, does: "thread" } as const]),
    ...(ruleOf(request, "folder") === undefined ? [] : [{ key: "a", label: dialog.folder, does: "folder" } as const]),
    ...(typeof prefix === "string" ? [{ key: "p", label: dialog.prefix(prefix), does: "prefix" } as const] : []),
    ...(looks ? [] : [{ key: "v", label: dialog.everywhere, does: "everywhere" } as const]),
  ];
}

function ruleOf({ tool = "", args = null }: Interrupt, scope: Scope): RulePattern | undefined {
  return patternOf({ tool, args }, scope);
}

function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasValues(request: Interrupt): boolean {
  return optionsOf(request).length > 0 || schemaOf(request).enum !== undefined || schemaOf(request).type === "boolean";
}

function valuesOf(request: Interrupt, texts: Texts): (readonly [label: string, value: Json])[] {
  const options = optionsOf(request);
  if (options.length > 0) return options.map((option) => [option, option] as const);
  const schema = schemaOf(request);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => [String(value), value as Json] as const);
  if (schema.type !== "boolean") return [];
  return [
    [texts.dialog.yes, true],
    [texts.dialog.noPlain, false],
  ];
}

function optionsOf({ context }: Interrupt): readonly string[] {
  const { options } = (typeof context === "object" && context !== null ? context : {}) as { readonly options?: Json };
  return Array.isArray(options)
    ? options.filter((option): option is string => typeof option === "string").slice(0, 9)
    : [];
}

function schemaOf({ schema }: Interrupt): Readonly<Record<string, unknown>> {
  return typeof schema === "object" && schema !== null ? (schema as Record<string, unknown>) : {};
}

/** Returns the rule of a lasting choice, in words; undefined for others. */
export function ruleText(request: Interrupt, does: Choice["does"], { dialog }: Texts): string | undefined {
  switch (does) {
    case "thread":
      return dialog.ruleThread(allowText({ tool: request.tool ?? "", args: { "": request.args ?? null } }));
    case "folder":
    case "prefix":
    case "everywhere": {
      const rule = ruleOf(request, does);
      const where = does === "everywhere" ? dialog.ruleEverywhere : dialog.ruleFolder;
      return rule === undefined ? undefined : where(allowText(rule));
    }
    case "accept":
      return dialog.ruleAccept;
    default:
      return undefined;
  }
}

function allowText({ tool, args }: RulePattern): string {
  const { "": all = args } = args;
  const [only, ...others] = Object.values(isFields(all) ? all : {});
  return `allow ${tool} ${typeof only === "string" && others.length === 0 ? only : JSON.stringify(all)}`;
}

export function onDialogKey(view: View, key: Key, now: number, texts: Texts): Step {
  const dialog = view.dialog!;
  const request = requestOf(view);
  if (request === undefined || dialog.sending === true) return still(view);
  if (now - Math.max(dialog.since, view.draftAt) < UNSEEN_MS) return still(view);
  if (key.name === "ctrl-n" || key.name === "ctrl-p") return still(other(view, key.name === "ctrl-n" ? 1 : -1, now));
  if (key.name === "page-up" || key.name === "page-down") {
    const rows = previewRows(request, innerColumns(view.columns - 1), previewOf, texts).length;
    const scroll = dialog.scroll + (key.name === "page-up" ? -PAGE : PAGE);
    return still({ ...view, dialog: { ...dialog, scroll: Math.max(0, Math.min(scroll, rows - PAGE)) } });
  }
  if (dialog.mode !== "choose") return onWriting(view, dialog, request, key, texts);
  const choices = choicesOf(request, texts);
  switch (key.name) {
    case "up":
    case "down": {
      const cursor = (dialog.cursor + (key.name === "up" ? choices.length - 1 : 1)) % choices.length;
      return still({ ...view, dialog: moved(dialog, cursor) });
    }
    case "enter": {
      const choice = choices[dialog.cursor];
      const { typed } = dialog;
      if (choice === undefined) return still(view);
      // Its rule was not there to be read yet.
      const lasts = ruleText(request, choice.does, texts) !== undefined;
      if (lasts && typed !== undefined && now - typed.at < UNSEEN_MS) return still(view);
      return chosen(view, dialog, request, choice);
    }
    case "paste":
      return still(drafted(view, key.text ?? "", now));
    case "text":
      return onLetter(view, dialog, choices, key.text ?? "", now);
    default:
      return still(view);
  }
}

/** One letter alone moves the cursor. Letters that follow each other, and one that chooses nothing, are words. */
function onLetter(view: View, dialog: Dialog, choices: readonly Choice[], text: string, now: number): Step {
  const { typed } = dialog;
  const before = typed !== undefined && now - typed.at < TYPING_MS ? typed.text : "";
  const letter = text.toLowerCase();
  const at = choices.findIndex(({ key }) => key === letter);
  const cursor = at >= 0 ? at : /^[1-9]$/.test(text) && Number(text) <= choices.length ? Number(text) - 1 : undefined;
  if (before === "" && cursor !== undefined)
    return still({ ...view, dialog: { ...moved(dialog, cursor), typed: { text, at: now } } });
  if (before === "" && text.trim() === "") return still(view);
  if (before === "" && text === "?") return still({ ...view, popup: { kind: "help", cursor: 0 } });
  return still(drafted(view, before + text, now));
}

function moved({ typed: _, ...dialog }: Dialog, cursor: number): Dialog {
  return { ...dialog, cursor };
}

/** Words that are not for the dialog: they stand on the prompt, and no choice is made. */
function drafted(view: View, text: string, now: number): View {
  const draft = edit(view.draft, { name: "paste", text }) ?? view.draft;
  return { ...view, draft, draftAt: now, historyAt: undefined, dialog: moved(view.dialog!, 0) };
}

function chosen(view: View, dialog: Dialog, request: Interrupt, choice: Choice): Step {
  const into = (mode: Dialog["mode"], text = ""): Step =>
    still({
      ...view,
      dialog: {
        id: dialog.id,
        since: dialog.since,
        cursor: dialog.cursor,
        mode,
        editor: editorOf(text),
        scroll: dialog.scroll,
      },
    });
  switch (choice.does) {
    case "once":
      return answered(view, { type: "approve" });
    case "thread":
    case "folder":
    case "prefix":
    case "everywhere":
      return answered(view, { type: "approve", remember: choice.does });
    case "accept": {
      const { view: next, effects } = answered({ ...view, mode: "accept-edits" }, { type: "approve" });
      return { view: next, effects: [{ do: "mode", mode: "accept-edits" }, ...effects] };
    }
    case "edit":
      return into("edit", editable(request).text);
    case "no":
      return into("reason");
    case "write":
      return into("answer");
    case "value":
      return answered(view, { type: "respond", value: choice.value! });
    default:
      return choice.does satisfies never;
  }
}

function onWriting(view: View, dialog: Dialog, request: Interrupt, key: Key, texts: Texts): Step {
  if (key.name !== "enter") {
    const editor = edit(dialog.editor, key);
    return still(editor === undefined ? view : { ...view, dialog: { ...dialog, editor } });
  }
  const text = dialog.editor.text.trim();
  const refuse = (problem: string): Step => still({ ...view, dialog: { ...dialog, problem } });
  switch (dialog.mode) {
    case "reason":
      return answered(view, { type: "reject", reason: text === "" ? texts.dialog.defaultReason : text });
    case "edit": {
      const { key: name, args } = editable(request);
      if (name !== undefined) return answered(view, { type: "approve", args: { ...args, [name]: dialog.editor.text } });
      const read = readJson(text);
      return "problem" in read
        ? refuse(texts.dialog.notJson(read.problem))
        : answered(view, { type: "approve", args: read.value });
    }
    case "answer": {
      if (text === "") return still(view);
      const wantsText = request.kind === "unknown" || [undefined, "string"].includes(schemaOf(request).type as string);
      const read = wantsText && schemaOf(request).anyOf === undefined ? { value: text } : readJson(text);
      return "problem" in read
        ? refuse(texts.dialog.notJson(read.problem))
        : answered(view, { type: "respond", value: read.value });
    }
    default:
      return still(view);
  }
}

/** One argument of text is edited as text; anything else as JSON. */
export function editable({ args = null }: Interrupt): {
  readonly text: string;
  readonly key?: string;
  readonly args: Readonly<Record<string, Json>>;
} {
  const own = (typeof args === "object" && args !== null && !Array.isArray(args) ? args : {}) as Record<string, Json>;
  const keys = Object.keys(own);
  const [only] = keys;
  if (keys.length === 1 && only !== undefined && typeof own[only] === "string")
    return { text: own[only], key: only, args: own };
  return { text: JSON.stringify(args), args: own };
}

function readJson(text: string): { readonly value: Json } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function answered(view: View, answer: DialogAnswer): Step {
  const { problem: _, ...dialog } = view.dialog!;
  const effects: Effect[] = [{ do: "answer", id: dialog.id, answer }];
  return { view: { ...view, dialog: { ...dialog, sending: true } }, effects };
}

function other(view: View, by: 1 | -1, now: number): View {
  const { requests, dialog } = view;
  const at = requests.findIndex(({ id }) => id === dialog?.id);
  const next = requests[(at + by + requests.length) % requests.length];
  return next === undefined || next.id === dialog?.id ? view : { ...view, dialog: dialogFor(next, now - UNSEEN_MS) };
}

/** Leaves the draft for the choices; returns false if ESC belongs to another part. */
export function leavesWriting(view: View): View | undefined {
  const { dialog } = view;
  const request = requestOf(view);
  if (dialog === undefined || request === undefined || dialog.mode === "choose") return undefined;
  const back = dialogFor(request, dialog.since);
  return back.mode === "choose" ? { ...view, dialog: { ...back, cursor: dialog.cursor } } : undefined;
}
