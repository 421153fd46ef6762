// Commands of the prompt: a word after a slash. Such a word is never sent to the model; a path (/etc/hosts) or a
// slash after a blank is text.

import type { Texts } from "../texts/texts.ts";
import { note } from "./on-event.ts";
import { isRunning, type Step, still, type View } from "./view.ts";

/** In the order of the palette: Enter on a lone slash shows the help. */
export const slashNames = [
  "help",
  "new",
  "resume",
  "rewind",
  "fork",
  "compact",
  "cost",
  "rules",
  "mcp",
  "console",
  "export",
  "theme",
  "quit",
] as const;

export type SlashName = (typeof slashNames)[number];

/** They leave the thread that is shown: not while it runs. */
const LEAVING: readonly SlashName[] = ["new", "resume", "rewind", "fork"];
const TAKES_WORDS: readonly SlashName[] = ["compact", "export", "theme"];

export interface Slash {
  readonly name: string;
  readonly words: string;
}

/** The command that is typed; undefined for text. */
export function slashOf(text: string): Slash | undefined {
  const found = /^\/([\w-]*)(?:\s+([\s\S]*))?$/.exec(text);
  return found === null ? undefined : { name: found[1]!.toLowerCase(), words: (found[2] ?? "").trim() };
}

/** The commands that the palette shows: while a name is being typed, those that begin like it. */
export function paletteOf({ draft }: Pick<View, "draft">): readonly SlashName[] {
  const typed = /^\/([\w-]*)$/.exec(draft.text)?.[1]?.toLowerCase();
  return typed === undefined ? [] : slashNames.filter((name) => name.startsWith(typed));
}

/** The one that Enter runs. */
export function chosenSlash(view: View): SlashName | undefined {
  const palette = paletteOf(view);
  return palette[Math.min(view.slashAt, palette.length - 1)];
}

/** Returns the name with a blank after it if the command takes words. */
export function completed(name: SlashName): string {
  return TAKES_WORDS.includes(name) ? `/${name} ` : `/${name}`;
}

/** Runs a command of the prompt. */
export function onSlash(view: View, { name, words }: Slash, texts: Texts): Step {
  const { slash } = texts;
  const known = slashNames.find((each) => each === name);
  if (known === undefined) return still(note(view, slash.unknown(`/${name}`), "error"));
  if (LEAVING.includes(known) && (isRunning(view) || view.requests.length > 0))
    return still(note(view, slash.busy(`/${known}`), "dim"));
  switch (known) {
    case "help":
      return still({ ...view, popup: { kind: "help", cursor: 0 } });
    case "rewind":
      return { view, effects: [{ do: "list-rewind" }] };
    case "resume":
      return { view, effects: [{ do: "list-threads" }] };
    case "new":
      return { view, effects: [{ do: "new" }] };
    case "fork":
      return { view, effects: [{ do: "fork" }] };
    case "cost":
      return still(note(view, costWords(view, texts), "soft"));
    case "compact":
      return { view, effects: [{ do: "compact", focus: words }] };
    case "rules":
    case "mcp":
    case "console":
    case "export":
      return { view, effects: [{ do: "command", name: known, words }] };
    case "theme": {
      const theme = (["light", "dark", "none"] as const).find((each) => each === words);
      if (theme === undefined) return still(note(view, slash.themes, "dim"));
      return { view: note(view, slash.themed(theme), "dim"), effects: [{ do: "theme", theme }] };
    }
    case "quit":
      return { view: { ...view, quitting: true }, effects: [{ do: "quit" }] };
    default:
      return known satisfies never;
  }
}

function costWords({ thread: { spent }, contextTokens, contextMost }: View, { slash }: Texts): string {
  const used = slash.tokens(spent.inputTokens, spent.outputTokens);
  return contextMost === undefined || contextTokens === 0
    ? used
    : `${used} ${slash.contextUse(contextTokens, contextMost)}`;
}
