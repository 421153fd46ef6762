// Values on their way to a client: secrets, opaque data of providers and the bytes of files are cut out.

import type { BelayEvent, Json, Message, Part } from "@belay/core";

/** Removes the hash of the pause's token and opaque data of providers. */
export function sentEvent(event: BelayEvent, threadId: string, withFiles = false): BelayEvent {
  switch (event.type) {
    case "message":
      return { ...event, message: sentMessage(event.message, threadId, withFiles) };
    case "state": {
      const { tokenHash: _hash, tokenUntil: _until, ...rest } = event;
      return rest;
    }
    case "tool-end":
    case "tool-late":
      return withFiles ? event : { ...event, output: sentOutput(event.output, threadId, event.seq) };
    default:
      return event;
  }
}

/** The address of a file, relative to `/v1/`. */
function fileUrl(threadId: string, place: string, index: number): { readonly url: string } {
  const path = ["threads", threadId, "files", place, String(index)];
  // Half of a character has no percent-encoding.
  return { url: path.map((each) => encodeURIComponent(each.toWellFormed())).join("/") };
}

/** Returns the text and files of a result that `content()` made; undefined for any other result. */
export function contentOf(output: Json): readonly Part[] | undefined {
  if (typeof output !== "object" || output === null || !Object.hasOwn(output, CONTENT)) return undefined;
  const parts = (output as Record<string, unknown>)[CONTENT];
  return Array.isArray(parts) ? parts : undefined;
}

const CONTENT = "~content";
/** Before the seq of a fact, in the place of a message's id. */
export const AT_FACT = "@";

function sentOutput(output: Json, threadId: string, seq: number): Json {
  const parts = contentOf(output);
  if (parts === undefined) return output;
  const sent = parts.map((part, index) =>
    part.type === "file" && "base64" in part.data
      ? { ...part, data: fileUrl(threadId, `${AT_FACT}${seq}`, index) }
      : part,
  );
  return { [CONTENT]: sent } as unknown as Json;
}

/** The bytes of a file become its address, unless they are wanted in place. */
export function sentMessage<M extends Pick<Message, "parts"> & { readonly id?: string }>(
  message: M,
  threadId: string,
  withFiles = false,
): M {
  const parts = message.parts.flatMap((part, index): Part[] => {
    if (part.type === "opaque") return [];
    const { provider: _, ...rest } = part;
    if (rest.type !== "file" || withFiles || message.id === undefined || !("base64" in rest.data)) return [rest];
    return [{ ...rest, data: fileUrl(threadId, message.id, index) }];
  });
  return { ...message, parts };
}
