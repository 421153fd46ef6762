// Gemini's documented rules, whose breach is a 400, for `contents` of a generateContent request.

import { isObject, isText, type RequestRules, show, unknownFields, type Wire } from "./wire.ts";

/** "Invalid function name. Must start with a letter or an underscore …, with a maximum length of 64." */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/;

/** A part holds exactly one of these ("required oneof field 'data' must have one initialized field"). */
const DATA = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
];
const ABOUT = ["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];

interface Turn {
  readonly at: string;
  readonly role: unknown;
  readonly calls: readonly Wire[];
  readonly responses: readonly Wire[];
}

export function geminiProblems(body: unknown, rules: RequestRules = {}): string[] {
  if (!isObject(body)) return ["the body is not an object"];
  const problems: string[] = [];
  if (body.systemInstruction !== undefined) {
    if (!isObject(body.systemInstruction)) problems.push("systemInstruction is not an object");
    else problems.push(...partsProblems(body.systemInstruction.parts, "systemInstruction", "system"));
  }
  if (!Array.isArray(body.contents)) return [...problems, "contents is not an array"];
  if (body.contents.length === 0) problems.push("contents is empty; at least one is needed");

  let before: Turn | undefined;
  for (const [index, content] of body.contents.entries()) {
    const at = `contents[${index}]`;
    if (!isObject(content)) {
      problems.push(`${at}: not an object`);
      continue;
    }
    for (const problem of unknownFields(content, ["role", "parts"])) problems.push(`${at}: ${problem}`);
    // "Please use a valid role: user, model."
    if (content.role !== "user" && content.role !== "model") {
      problems.push(`${at}: role ${show(content.role)} is unknown`);
    }
    problems.push(...partsProblems(content.parts, at, content.role));
    const turn = turnOf(content, at);
    problems.push(...orderProblems(before, turn));
    before = turn;
  }
  problems.push(...orderProblems(before, undefined));
  // "Please ensure that multiturn requests ends with a user role or a function response."
  if (before?.role === "model" && !rules.prefill) {
    problems.push(`${before.at}: the contents end with the model, not with the user`);
  }
  return problems;
}

function turnOf(content: Wire, at: string): Turn {
  const parts: readonly unknown[] = Array.isArray(content.parts) ? content.parts : [];
  const held = (key: string) => parts.flatMap((part) => (isObject(part) && isObject(part[key]) ? [part[key]] : []));
  return { at, role: content.role, calls: held("functionCall"), responses: held("functionResponse") };
}

/**
 * A function call turn comes directly after a user turn or a function response turn; the turn after it holds as many
 * responses as it has calls, for the same functions; a response turn comes directly after a call turn.
 */
function orderProblems(before: Turn | undefined, turn: Turn | undefined): string[] {
  const problems: string[] = [];
  if (turn !== undefined && turn.calls.length > 0 && before?.role !== "user") {
    problems.push(`${turn.at}: a function call turn must come directly after a user or function response turn`);
  }
  const calls = before?.calls ?? [];
  const responses = turn?.responses ?? [];
  if (calls.length === 0 && responses.length > 0) {
    return [...problems, `${turn?.at}: function response ${show(responses[0]?.name)} has no call in the turn before`];
  }
  if (calls.length !== responses.length) {
    return [
      ...problems,
      `${before?.at}: ${calls.length} function calls, ${responses.length} responses in the next turn`,
    ];
  }
  if (sorted(calls, "name") !== sorted(responses, "name")) {
    problems.push(`${turn?.at}: responses of ${sorted(responses, "name")}, calls of ${sorted(calls, "name")}`);
  }
  const named = calls.every((call) => call.id !== undefined) && responses.some((response) => response.id !== undefined);
  if (named && sorted(calls, "id") !== sorted(responses, "id")) {
    problems.push(`${turn?.at}: responses with ids ${sorted(responses, "id")}, calls ${sorted(calls, "id")}`);
  }
  return problems;
}

function sorted(values: readonly Wire[], key: string): string {
  return JSON.stringify(values.map((value) => String(value[key])).sort());
}

function partsProblems(parts: unknown, at: string, role: unknown): string[] {
  if (!Array.isArray(parts) || parts.length === 0) return [`${at}: parts is empty`];
  return parts.flatMap((part, index) => {
    const where = `${at}.parts[${index}]`;
    if (!isObject(part)) return [`${where}: not an object`];
    const problems = unknownFields(part, [...DATA, ...ABOUT]).map((problem) => `${where}: ${problem}`);
    const data = DATA.filter((key) => part[key] !== undefined);
    if (data.length !== 1) return [...problems, `${where}: part holds ${data.length} kinds of data, not one`];
    return [...problems, ...dataProblems(data[0]!, part[data[0]!], where, role)];
  });
}

function dataProblems(kind: string, data: unknown, where: string, role: unknown): string[] {
  if (role === "system" && kind !== "text") return [`${where}: ${kind} in the system instruction`];
  if (kind === "text") return isText(data) ? [] : [`${where}: text is empty`];
  if (!isObject(data)) return [`${where}: ${kind} is not an object`];
  const problems: string[] = [];
  switch (kind) {
    case "inlineData":
      if (!isText(data.mimeType) || !isText(data.data)) problems.push(`${where}: inlineData without type or data`);
      break;
    case "fileData":
      if (!isText(data.fileUri) || !/^(https?|gs):/.test(data.fileUri)) {
        problems.push(`${where}: no address: ${show(data.fileUri)}`);
      }
      break;
    case "functionCall":
      if (role !== "model") problems.push(`${where}: functionCall of ${show(role)}`);
      problems.push(...nameProblems(data.name, where));
      if (data.args !== undefined && !isObject(data.args)) problems.push(`${where}: args is not an object`);
      break;
    case "functionResponse":
      if (role !== "user") problems.push(`${where}: functionResponse of ${show(role)}`);
      problems.push(...nameProblems(data.name, where));
      if (!isObject(data.response)) problems.push(`${where}: response is not an object`);
      break;
    default:
  }
  return problems;
}

function nameProblems(name: unknown, where: string): string[] {
  return typeof name === "string" && NAME.test(name)
    ? []
    : [`${where}: name ${show(name)} does not match ${NAME.source}`];
}
