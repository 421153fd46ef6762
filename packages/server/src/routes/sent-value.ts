// Values on their way to a client: secrets, opaque data of providers and the bytes of files are cut out.

import type { BelayEvent, Message, Part } from "@belay/core";

/** Removes the hash of the pause's token and opaque data of providers. */
export function sentEvent(event: BelayEvent, threadId: string, withFiles = false): BelayEvent {
  switch (event.type) {
    case "message":
      return { ...event, message: sentMessage(event.message, threadId, withFiles) };
    case "state": {
      const { tokenHash: _hash, tokenUntil: _until, ...rest } = event;
      return rest;
    }
    default:
      return event;
  }
}

/** The bytes of a file become its address, relative to `/v1/`, unless they are wanted in place. */
export function sentMessage<M extends Pick<Message, "parts"> & { readonly id?: string }>(
  message: M,
  threadId: string,
  withFiles = false,
): M {
  const parts = message.parts.flatMap((part, index): Part[] => {
    if (part.type === "opaque") return [];
    const { provider: _, ...rest } = part;
    if (rest.type !== "file" || withFiles || message.id === undefined || !("base64" in rest.data)) return [rest];
    const path = ["threads", threadId, "files", message.id, String(index)];
    const url = path.map((each) => encodeURIComponent(each.toWellFormed())).join("/");
    return [{ ...rest, data: { url } }];
  });
  return { ...message, parts };
}
