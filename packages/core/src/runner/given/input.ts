// Turns the input of a caller into messages. It is checked before anything is changed.

import { belayError } from "../../error.ts";
import { bytesOver, type Json, toJson } from "../../json.ts";
import type { Message, Part } from "../../message.ts";
import { fileProblem, isBlank } from "../../message.ts";
import { isLongName, NAME_BYTES } from "../../read-name.ts";

/** An input written as a message: text and files of a person. */
export type InputMessage = Pick<Message, "parts"> & Partial<Pick<Message, "id" | "role">>;

/** The input of a person: a text, several texts, or messages with text and files. */
export type Input = string | readonly string[] | readonly InputMessage[];

type Inputs = readonly { readonly id?: string; readonly parts: readonly Part[] }[];

/** Returns the parts of each message of the input, without blank ones. Throws if all of it takes more than `most` bytes. */
export function readInput(input: Input | undefined, most: number): Inputs {
  const inputs = readParts(input);
  const bytes = bytesOver(inputs as unknown as Json, most);
  if (bytes !== undefined) throw belayError("INPUT_TOO_LARGE", { bytes, most });
  return inputs;
}

function readParts(input: Input | undefined): Inputs {
  if (input === undefined || input === null) return [];
  if (typeof input === "string") return isBlank(input) ? [] : [{ parts: [{ type: "text", text: input }] }];
  if (!Array.isArray(input)) throw invalid(`it is of type ${typeof input}, not text or a list`);
  return (input as readonly (string | InputMessage)[]).flatMap((item, i) =>
    typeof item === "string" ? readParts(item) : readMessage(item, i),
  );
}

function readMessage(message: InputMessage, index: number): Inputs {
  if (typeof message !== "object" || message === null || !Array.isArray(message.parts)) {
    throw invalid(`item ${index} is neither text nor a message with parts`);
  }
  if (message.role !== undefined && message.role !== "user") {
    throw invalid(`message ${index} has role ${JSON.stringify(message.role)}`);
  }
  const id = message.id === undefined ? undefined : String(message.id);
  if (id !== undefined && isLongName(id)) throw invalid(`message ${index} has an id of more than ${NAME_BYTES} bytes`);
  const parts = message.parts.map((part, p) => readPart(part, `${index}.parts[${p}]`));
  const said = parts.filter((part) => part.type !== "text" || !isBlank(part.text));
  return said.length === 0 ? [] : [{ ...(id !== undefined && { id }), parts: said }];
}

function readPart(part: Part, at: string): Part {
  if (part?.type === "file") {
    const problem = fileProblem(part);
    if (problem !== undefined) throw invalid(`file ${at} ${problem}`);
  } else if (part?.type !== "text" || typeof part.text !== "string") {
    throw invalid(`part ${at} has type ${JSON.stringify(part?.type)}; a person can give text and file`);
  }
  return toJson(part, "An input") as unknown as Part;
}

function invalid(problem: string): Error {
  return belayError("INPUT_INVALID", { problem });
}
