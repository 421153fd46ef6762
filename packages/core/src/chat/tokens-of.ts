// How many tokens something takes, about: four bytes to one, in every script, and a little for the frame around each.
// Providers count differently. Each thing is looked at once: none of them changes, and all are asked for before every turn.

import { contentOf } from "../content.ts";
import type { Json } from "../json.ts";
import type { Message, Part } from "../message.ts";
import type { ModelRequest } from "../model/model.ts";

const FRAME_BYTES = 16;

const ofMessages = new WeakMap<Message, number>();
const ofRequests = new WeakMap<object, number>();

export function tokensOf(message: Message): number {
  let tokens = ofMessages.get(message);
  if (tokens === undefined) {
    let bytes = FRAME_BYTES;
    for (const part of message.parts) bytes += partSize(part);
    tokens = Math.ceil(bytes / 4);
    ofMessages.set(message, tokens);
  }
  return tokens;
}

/** Returns the tokens beside the messages: the tools, and the schema of the answer. */
export function tokensBeside(request: ModelRequest): number {
  let tokens = ofRequests.get(request);
  if (tokens === undefined) {
    const { tools, output } = request;
    let bytes = output === undefined ? 0 : FRAME_BYTES + sizeOf(output.name) + sizeOf(output.schema);
    for (const { name, description, inputSchema } of tools) {
      bytes += FRAME_BYTES + sizeOf(name) + sizeOf(description) + sizeOf(inputSchema);
    }
    tokens = Math.ceil(bytes / 4);
    ofRequests.set(request, tokens);
  }
  return tokens;
}

export function sizeOf(value: Json): number {
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}

function partSize(part: Part): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return sizeOf(part.text);
    case "call":
      return sizeOf(part.tool) + sizeOf(part.args);
    case "result":
      return contentOf(part.output)?.reduce((bytes, each) => bytes + partSize(each), 0) ?? sizeOf(part.output);
    case "file":
      return "base64" in part.data ? Math.min(part.data.base64.length, 6_000) : 400;
    case "opaque":
      return sizeOf(part.provider.data);
    default:
      return part satisfies never;
  }
}
