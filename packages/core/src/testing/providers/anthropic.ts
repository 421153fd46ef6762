// Anthropic's documented rules, whose breach is a 400, for `messages` of a Messages API request. The API joins
// consecutive messages of one role into one turn before it checks, and so do we.

import { hasHalfCharacter, isObject, isText, type RequestRules, show, unknownFields, type Wire } from "./wire.ts";

const CALL_ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Block type → its fields ("Extra inputs are not permitted"). Results of server tools are let through by their ending. */
const USER_BLOCKS: { readonly [type: string]: readonly string[] } = {
  text: ["text", "citations"],
  image: ["source"],
  document: ["source", "title", "context", "citations"],
  search_result: ["source", "title", "content", "citations"],
  container_upload: ["file_id"],
  tool_result: ["tool_use_id", "content", "is_error"],
};
const ASSISTANT_BLOCKS: { readonly [type: string]: readonly string[] } = {
  text: ["text", "citations"],
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"],
  tool_use: ["id", "name", "input", "caller"],
  server_tool_use: ["id", "name", "input", "caller"],
  mcp_tool_use: ["id", "name", "input", "server_name"],
};

interface Block {
  readonly at: string;
  readonly block: Wire;
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly at: string;
  readonly blocks: Block[];
}

export function anthropicProblems(body: unknown, rules: RequestRules = {}): string[] {
  if (!isObject(body)) return ["the body is not an object"];
  const problems: string[] = [...systemProblems(body.system), ...toolProblems(body.tools)];
  if (!Array.isArray(body.messages)) return [...problems, "messages is not an array"];
  if (body.messages.length === 0) problems.push("messages is empty; at least one is needed");

  const turns = joinTurns(body.messages, problems);
  const taken = new Set<string>();
  let before: Turn | undefined;
  for (const turn of turns) {
    for (const block of turn.blocks) problems.push(...blockProblems(block, turn.role));
    if (turn.role === "user") problems.push(...resultOrderProblems(turn));
    else problems.push(...assistantProblems(turn, taken));
    problems.push(...pairProblems(before, turn));
    before = turn;
  }
  problems.push(...pairProblems(before, undefined));

  if (turns[0]?.role === "assistant") problems.push("messages[0]: the first message is not the user's");
  const last = turns.at(-1);
  if (last?.role === "assistant") problems.push(...finalProblems(last, rules));
  return problems;
}

function joinTurns(messages: readonly unknown[], problems: string[]): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (!isObject(message) || (message.role !== "user" && message.role !== "assistant")) {
      problems.push(`${at}: ${isObject(message) ? `role ${show(message.role)} is unknown` : "not an object"}`);
      continue;
    }
    for (const problem of unknownFields(message, ["role", "content"])) problems.push(`${at}: ${problem}`);
    const { content, role } = message;
    const blocks: Block[] = [];
    if (typeof content === "string") blocks.push({ at: `${at}.content`, block: { type: "text", text: content } });
    else if (!Array.isArray(content)) problems.push(`${at}: content is ${show(content)}, not text or blocks`);
    else if (content.length === 0) problems.push(`${at}: ${role} content is empty`);
    else {
      for (const [i, block] of content.entries()) {
        if (isObject(block)) blocks.push({ at: `${at}.content[${i}]`, block });
        else problems.push(`${at}.content[${i}]: not an object`);
      }
    }
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, at, blocks });
  }
  return turns;
}

function blockProblems({ at, block }: Block, role: Turn["role"]): string[] {
  const { type } = block;
  const known = typeof type === "string" ? (role === "user" ? USER_BLOCKS : ASSISTANT_BLOCKS)[type] : undefined;
  if (known === undefined) {
    const ofServer = role === "assistant" && typeof type === "string" && type.endsWith("_tool_result");
    return ofServer ? [] : [`${at}: block ${show(type)} is not allowed for ${role}`];
  }
  const problems = unknownFields(block, ["type", "cache_control", ...known]).map((problem) => `${at}: ${problem}`);
  switch (type) {
    case "text":
      problems.push(...textProblems(block.text, at));
      break;
    case "image":
    case "document":
      problems.push(...sourceProblems(block.source, at));
      break;
    case "thinking":
      if (typeof block.thinking !== "string") problems.push(`${at}: thinking is not text`);
      // "…thinking.signature: Field required".
      if (!isText(block.signature)) problems.push(`${at}: thinking without its signature`);
      break;
    case "redacted_thinking":
      if (!isText(block.data)) problems.push(`${at}: redacted_thinking without data`);
      break;
    case "tool_use":
      problems.push(...callProblems(block, at));
      break;
    case "tool_result":
      problems.push(...resultProblems(block, at));
      break;
    default:
  }
  return problems;
}

/** "text content blocks must be non-empty", "… must contain non-whitespace text", "no low surrogate in string". */
function textProblems(text: unknown, at: string): string[] {
  if (typeof text !== "string") return [`${at}: text is not a string`];
  if (text === "") return [`${at}: text is empty`];
  if (text.trim() === "") return [`${at}: text is only whitespace`];
  return hasHalfCharacter(text) ? [`${at}: text has half of a surrogate pair`] : [];
}

function sourceProblems(source: unknown, at: string): string[] {
  if (!isObject(source)) return [`${at}: source is missing`];
  switch (source.type) {
    case "base64":
      return isText(source.data) && isText(source.media_type) ? [] : [`${at}: base64 source without data or type`];
    case "url":
      return isText(source.url) && /^https?:/.test(source.url) ? [] : [`${at}: no address: ${show(source.url)}`];
    case "text":
    case "file":
    case "content":
      return [];
    default:
      return [`${at}: source type ${show(source.type)} is unknown`];
  }
}

function callProblems(block: Wire, at: string): string[] {
  const problems: string[] = [];
  const { id, name, input } = block;
  if (typeof id !== "string" || !CALL_ID.test(id)) {
    problems.push(`${at}: tool_use id ${show(id)} does not match ${CALL_ID.source}`);
  }
  if (typeof name !== "string" || !NAME.test(name)) {
    problems.push(`${at}: name ${show(name)} does not match ${NAME.source}`);
  }
  // "tool_use.input: Input should be a valid dictionary".
  if (!isObject(input)) problems.push(`${at}: input ${show(input)} is not an object`);
  else if (hasHalfCharacter(input)) problems.push(`${at}: input has half of a surrogate pair`);
  return problems;
}

function resultProblems(block: Wire, at: string): string[] {
  const problems: string[] = [];
  const { content, is_error: isError } = block;
  if (!isText(block.tool_use_id)) problems.push(`${at}: tool_use_id is missing`);
  if (isError !== undefined && typeof isError !== "boolean") problems.push(`${at}: is_error is not a boolean`);
  // "content cannot be empty if `is_error` is true".
  if (isError === true && (content === undefined || content === "" || (Array.isArray(content) && !content.length))) {
    problems.push(`${at}: content is empty although is_error is true`);
  }
  if (content === undefined) return problems;
  if (typeof content === "string") {
    if (hasHalfCharacter(content)) problems.push(`${at}: content has half of a surrogate pair`);
    return problems;
  }
  if (!Array.isArray(content)) return [...problems, `${at}: content is ${show(content)}, not text or blocks`];
  for (const [index, inner] of content.entries()) {
    const where = `${at}.content[${index}]`;
    const type = isObject(inner) ? inner.type : undefined;
    if (type === "text") problems.push(...textProblems(inner.text, where));
    else if (type === "image" || type === "document") problems.push(...sourceProblems(inner.source, where));
    else if (type !== "search_result") problems.push(`${where}: block ${show(type)} is not allowed in a tool_result`);
  }
  return problems;
}

/** Results come first in their turn; text before one makes the API miss it. */
function resultOrderProblems(turn: Turn): string[] {
  let other = false;
  return turn.blocks.flatMap(({ at, block }) => {
    const isResult = block.type === "tool_result";
    if (!isResult) other = true;
    return isResult && other ? [`${at}: tool_result ${show(block.tool_use_id)} comes after other content`] : [];
  });
}

/**
 * "`tool_use` ids must be unique" over the whole request. Text after a tool_use of the same turn parts it from its
 * result, and is refused as an unanswered call. "The final block in an assistant message cannot be `thinking`".
 */
function assistantProblems(turn: Turn, taken: Set<string>): string[] {
  const problems: string[] = [];
  let called = false;
  for (const { at, block } of turn.blocks) {
    if (block.type === "tool_use") {
      called = true;
      if (typeof block.id !== "string") continue;
      if (taken.has(block.id)) problems.push(`${at}: tool_use id ${show(block.id)} is used twice`);
      taken.add(block.id);
    } else if (called && ["text", "thinking", "redacted_thinking"].includes(String(block.type))) {
      problems.push(`${at}: ${block.type} comes after a tool_use in the same turn`);
    }
  }
  const final = turn.blocks.at(-1);
  if (final?.block.type === "thinking" || final?.block.type === "redacted_thinking") {
    problems.push(`${final.at}: the assistant turn ends with ${final.block.type}`);
  }
  return problems;
}

/** Each tool_use is answered by exactly one tool_result in the next turn, and each tool_result answers one of the last. */
function pairProblems(before: Turn | undefined, turn: Turn | undefined): string[] {
  const problems: string[] = [];
  const open = new Map<string, string>();
  for (const { at, block } of before?.role === "assistant" ? before.blocks : []) {
    if (block.type === "tool_use" && typeof block.id === "string") open.set(block.id, at);
  }
  const answered = new Set<string>();
  for (const { at, block } of turn?.role === "user" ? turn.blocks : []) {
    const id = block.tool_use_id;
    if (block.type !== "tool_result" || typeof id !== "string") continue;
    if (answered.has(id)) problems.push(`${at}: tool_use ${show(id)} has more than one tool_result`);
    else if (!open.delete(id)) problems.push(`${at}: tool_result ${show(id)} has no tool_use in the message before`);
    answered.add(id);
  }
  for (const [id, at] of open) problems.push(`${at}: tool_use ${show(id)} has no tool_result in the next message`);
  return problems;
}

/** Newer models refuse a prefill; the others refuse one that ends in whitespace. */
function finalProblems(turn: Turn, rules: RequestRules): string[] {
  const final = turn.blocks.at(-1);
  if (!rules.prefill) return [`${turn.at}: the conversation ends with the assistant, not with the user`];
  const text = final?.block.type === "text" ? final.block.text : undefined;
  return typeof text === "string" && text !== text.trimEnd() ? [`${final?.at}: final text ends in whitespace`] : [];
}

function systemProblems(system: unknown): string[] {
  if (system === undefined) return [];
  if (typeof system === "string") return textProblems(system, "system");
  if (!Array.isArray(system)) return ["system is neither text nor blocks"];
  return system.flatMap((block, index) =>
    isObject(block) && block.type === "text"
      ? textProblems(block.text, `system[${index}]`)
      : [`system[${index}]: not a text block`],
  );
}

function toolProblems(tools: unknown): string[] {
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) return ["tools is not an array"];
  const names = tools.map((tool) => (isObject(tool) ? tool.name : undefined));
  return names.flatMap((name, index) => {
    if (typeof name !== "string" || !NAME.test(name)) {
      return [`tools[${index}]: name ${show(name)} does not match ${NAME.source}`];
    }
    return names.indexOf(name) < index ? [`tools[${index}]: name ${show(name)} is used twice`] : [];
  });
}
