// Requests that wait for the person: one is looked at, the others are a key away. Keys count only when the person has seen
// what they answer: not in the first moment, and not while something else is being typed.

import type { Interrupt, Json } from "@belay/core";
import type { Key } from "../keys/decoder.ts";
import type { Texts } from "../texts/texts.ts";
import { edit, editorOf, emptyEditor } from "./editor.ts";
import { type Dialog, type DialogAnswer, type Effect, type Step, still, type View } from "./view.ts";

export const UNSEEN_MS = 300;

/** A way to answer; the letter chooses it at once. */
export interface Choice {
  readonly key: string;
  readonly label: string;
  readonly does: "once" | "thread" | "always" | "edit" | "no" | "value" | "write";
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
  return { id: request.id, since, cursor: 0, mode, editor: emptyEditor };
}

export function requestOf(view: View): Interrupt | undefined {
  return view.requests.find(({ id }) => id === view.dialog?.id);
}

/** Whether keys go to the dialog. */
export function takesKeys(view: View): boolean {
  return view.dialog !== undefined && view.popup === undefined && view.draft.text === "";
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
    // What is to be remembered is a call; without one there is nothing to make a rule of.
    const remembers = request.tool !== undefined && request.key === undefined;
    return [
      { key: "y", label: dialog.once, does: "once" },
      ...(remembers
        ? ([
            { key: "t", label: dialog.thread, does: "thread" },
            { key: "a", label: dialog.always, does: "always" },
            { key: "e", label: dialog.edit, does: "edit" },
          ] as const)
        : []),
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

/** The rule that "always" leaves behind, in the words of the rules file: this tool with exactly these arguments. */
export function ruleText({ tool = "", args = null }: Interrupt): string {
  return `allow ${tool} ${JSON.stringify(args)}`;
}

export function onDialogKey(view: View, key: Key, now: number, texts: Texts): Step {
  const dialog = view.dialog!;
  const request = requestOf(view);
  if (request === undefined || dialog.sending === true) return still(view);
  if (now - Math.max(dialog.since, view.draftAt) < UNSEEN_MS) return still(view);
  if (key.name === "ctrl-n" || key.name === "ctrl-p") return still(other(view, key.name === "ctrl-n" ? 1 : -1, now));
  if (dialog.mode !== "choose") return onWriting(view, dialog, request, key, texts);
  const choices = choicesOf(request, texts);
  if (key.name === "up" || key.name === "down") {
    const cursor = (dialog.cursor + (key.name === "up" ? choices.length - 1 : 1)) % choices.length;
    return still({ ...view, dialog: { ...dialog, cursor } });
  }
  const typed = key.name === "text" ? key.text?.toLowerCase() : undefined;
  const byNumber = typed !== undefined && /^[1-9]$/.test(typed) ? choices[Number(typed) - 1] : undefined;
  const choice =
    key.name === "enter" ? choices[dialog.cursor] : (choices.find((each) => each.key === typed) ?? byNumber);
  return choice === undefined ? still(view) : chosen(view, dialog, request, choice);
}

function chosen(view: View, dialog: Dialog, request: Interrupt, choice: Choice): Step {
  const into = (mode: Dialog["mode"], text = ""): Step =>
    still({
      ...view,
      dialog: { id: dialog.id, since: dialog.since, cursor: dialog.cursor, mode, editor: editorOf(text) },
    });
  switch (choice.does) {
    case "once":
      return answered(view, { type: "approve" });
    case "thread":
    case "always":
      return answered(view, { type: "approve", remember: choice.does });
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

/** Out of what is being written, back to the choices; false where ESC is for something else. */
export function leavesWriting(view: View): View | undefined {
  const { dialog } = view;
  const request = requestOf(view);
  if (dialog === undefined || request === undefined || dialog.mode === "choose") return undefined;
  const back = dialogFor(request, dialog.since);
  return back.mode === "choose" ? { ...view, dialog: { ...back, cursor: dialog.cursor } } : undefined;
}
