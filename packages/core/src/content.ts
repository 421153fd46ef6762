// The result of a tool as text and files (I3). It is recorded as JSON under one key that no other result uses.

import { belayError, shown } from "./error.ts";
import type { Json } from "./json.ts";
import { type FilePart, fileProblem, type TextPart } from "./message.ts";

/** A result made by `content()`. */
export interface Content {
  readonly "~content": readonly (TextPart | FilePart)[];
}

/**
 * Makes a tool result out of text and files, such as a picture. A model that accepts files in results gets them. Any
 * other model gets the text and the name of each file. A string is a text part.
 */
export function content(parts: readonly (string | TextPart | FilePart)[]): Content {
  const refuse = (value: unknown, needed: string) =>
    belayError("OPTION_INVALID", { option: "parts of content()", value: shown(value), needed });
  if (!Array.isArray(parts)) throw refuse(parts, "a list of text and file parts");
  const read = parts.map((part: string | TextPart | FilePart): TextPart | FilePart => {
    if (typeof part === "string") return { type: "text", text: part };
    if (part?.type === "text" && typeof part.text === "string") return part;
    if (part?.type !== "file") throw refuse(part, "text, or a part of type text or file");
    const problem = fileProblem(part);
    if (problem !== undefined) throw refuse(part, `a file that can be read; this one ${problem}`);
    return part;
  });
  return { "~content": read };
}

/** Returns the parts of a result that `content()` made; undefined for any other result. */
export function contentOf(output: Json): readonly (TextPart | FilePart)[] | undefined {
  if (typeof output !== "object" || output === null || !Object.hasOwn(output, "~content")) return undefined;
  return (output as unknown as Content)["~content"];
}

/** Returns the parts as text, with each file by its name. */
export function contentText(parts: readonly (TextPart | FilePart)[]): string {
  const words = parts.map((part) => (part.type === "text" ? part.text : `[file ${part.name ?? part.mediaType}]`));
  return words.join("\n");
}
