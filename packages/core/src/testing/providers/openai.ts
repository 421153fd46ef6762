// OpenAI's documented rules, whose breach is a 400, for `messages` of a chat completions request.

import { holdsJson, isObject, isText, show, unknownFields, type Wire } from "./wire.ts";

export const OPENAI_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** "Invalid 'messages[2].tool_calls[0].id': string too long. Expected … maximum length 40". */
const CALL_ID_MAX = 40;

const FIELDS: { readonly [role: string]: readonly string[] } = {
  system: ["role", "content", "name"],
  developer: ["role", "content", "name"],
  user: ["role", "content", "name"],
  assistant: ["role", "content", "name", "tool_calls", "refusal", "audio"],
  tool: ["role", "content", "tool_call_id"],
};

const PARTS: { readonly [role: string]: readonly string[] } = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "input_audio", "file"],
  assistant: ["text", "refusal"],
  tool: ["text"],
};

/** The calls of the last assistant message that have no tool message yet. */
interface Open {
  readonly at: string;
  readonly ids: Set<string>;
  readonly answered: Set<string>;
}

export function openAiProblems(body: unknown): string[] {
  if (!isObject(body)) return ["the body is not an object"];
  const problems = openAiToolProblems(body.tools);
  if (!Array.isArray(body.messages)) return [...problems, "messages is not an array"];
  if (body.messages.length === 0) problems.push("messages is empty; at least one is needed");

  const callIds = new Set<string>();
  let open: Open | undefined;
  const close = () => {
    for (const id of open?.ids ?? []) {
      problems.push(`${open?.at}: call ${show(id)} is not followed directly by a tool message that answers it`);
    }
    open = undefined;
  };

  for (const [index, message] of body.messages.entries()) {
    const at = `messages[${index}]`;
    if (!isObject(message) || typeof message.role !== "string" || FIELDS[message.role] === undefined) {
      close();
      problems.push(`${at}: ${isObject(message) ? `role ${show(message.role)} is unknown` : "not an object"}`);
      continue;
    }
    for (const problem of unknownFields(message, FIELDS[message.role]!)) problems.push(`${at}: ${problem}`);
    problems.push(...contentProblems(message, message.role, at));

    if (message.role === "tool") {
      problems.push(...answer(message, open, at));
      continue;
    }
    close();
    if (message.role === "assistant" && message.tool_calls !== undefined) {
      open = { at, ids: new Set(), answered: new Set() };
      problems.push(...callProblems(message.tool_calls, at, callIds, open));
    }
  }
  close();
  return problems;
}

/** A tool message answers one call of the assistant message before it, and each call is answered once. */
function answer(message: Wire, open: Open | undefined, at: string): string[] {
  const id = message.tool_call_id;
  if (!isText(id)) return [`${at}: tool_call_id is missing`];
  if (open?.answered.has(id)) return [`${at}: call ${show(id)} is answered twice`];
  if (!open?.ids.delete(id)) {
    return [`${at}: tool message answers ${show(id)}, which the assistant message before it did not call`];
  }
  open.answered.add(id);
  return [];
}

function callProblems(calls: unknown, at: string, taken: Set<string>, open: Open): string[] {
  if (!Array.isArray(calls)) return [`${at}: tool_calls is not an array`];
  if (calls.length === 0) return [`${at}: tool_calls is empty; leave it out`];
  const problems: string[] = [];
  for (const [index, call] of calls.entries()) {
    const where = `${at}.tool_calls[${index}]`;
    if (!isObject(call) || call.type !== "function" || !isObject(call.function)) {
      problems.push(`${where}: not a call of type function`);
      continue;
    }
    for (const problem of unknownFields(call, ["id", "type", "function"])) problems.push(`${where}: ${problem}`);
    const { id } = call;
    const { name, arguments: args } = call.function;
    if (!isText(id)) problems.push(`${where}: id is missing`);
    else {
      if (id.length > CALL_ID_MAX) problems.push(`${where}: id ${show(id)} is longer than ${CALL_ID_MAX}`);
      if (taken.has(id)) problems.push(`${where}: id ${show(id)} is used twice`);
      taken.add(id);
      open.ids.add(id);
    }
    if (typeof name !== "string" || !OPENAI_NAME.test(name)) {
      problems.push(`${where}: name ${show(name)} does not match ${OPENAI_NAME.source}`);
    }
    if (typeof args !== "string") problems.push(`${where}: arguments is not a string`);
    else if (!holdsJson(args)) problems.push(`${where}: arguments ${show(args)} is not JSON`);
  }
  return problems;
}

/** Content is text or a list of parts; only an assistant message with calls (or a refusal) may go without. */
function contentProblems(message: Wire, role: string, at: string): string[] {
  const { content } = message;
  if (role === "assistant" && (content === null || content === undefined || content === "")) {
    const said = message.tool_calls !== undefined || isText(message.refusal) || isObject(message.audio);
    return said ? [] : [`${at}: assistant message has neither content nor tool_calls`];
  }
  if (typeof content === "string") {
    return content === "" && role !== "tool" ? [`${at}: ${role} content is empty`] : [];
  }
  if (!Array.isArray(content)) return [`${at}: ${role} content is ${show(content)}, not text or parts`];
  if (content.length === 0) return [`${at}: ${role} content is empty`];

  const problems: string[] = [];
  let filled = role === "tool";
  for (const [index, part] of content.entries()) {
    const where = `${at}.content[${index}]`;
    if (!isObject(part) || typeof part.type !== "string" || !PARTS[role]!.includes(part.type)) {
      problems.push(`${where}: part ${show(isObject(part) ? part.type : part)} is not allowed for ${role}`);
      continue;
    }
    filled ||= part.type !== "text" || isText(part.text);
    problems.push(...partProblems(part, where));
  }
  if (problems.length === 0 && !filled) problems.push(`${at}: ${role} content is empty`);
  return problems;
}

function partProblems(part: Wire, where: string): string[] {
  switch (part.type) {
    case "text":
      return typeof part.text === "string" ? [] : [`${where}: text is not a string`];
    case "refusal":
      return isText(part.refusal) ? [] : [`${where}: refusal is missing`];
    case "image_url": {
      const url = isObject(part.image_url) ? part.image_url.url : undefined;
      return typeof url === "string" && /^(https?|data):/.test(url) ? [] : [`${where}: no image address: ${show(url)}`];
    }
    case "input_audio":
      return isObject(part.input_audio) && isText(part.input_audio.data) ? [] : [`${where}: audio has no data`];
    default: {
      const { file_data: data, file_id: id } = isObject(part.file) ? part.file : {};
      return (typeof data === "string" && /^(https?|data):/.test(data)) || isText(id)
        ? []
        : [`${where}: file has neither data nor id: ${show(data)}`];
    }
  }
}

/** "[] is too short - 'tools'"; names by the pattern, each once. */
function openAiToolProblems(tools: unknown): string[] {
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) return ["tools is not an array"];
  if (tools.length === 0) return ["tools is empty; leave it out"];
  const names = tools.map((tool) => (isObject(tool) && isObject(tool.function) ? tool.function.name : undefined));
  return names.flatMap((name, index) => {
    if (typeof name !== "string" || !OPENAI_NAME.test(name)) {
      return [`tools[${index}]: name ${show(name)} does not match ${OPENAI_NAME.source}`];
    }
    return names.indexOf(name) < index ? [`tools[${index}]: name ${show(name)} is used twice`] : [];
  });
}
