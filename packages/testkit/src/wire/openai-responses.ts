// OpenAI's documented rules, whose breach is a 400, for `input` of a responses request.

import { holdsJson, isObject, isText, OPENAI_NAME, show, type Wire } from "@belay/core/inside";

/** "Invalid 'input[95].call_id': string too long. Expected a string with maximum length 64". */
const CALL_ID_MAX = 64;

const PARTS: { readonly [role: string]: readonly string[] } = {
  system: ["input_text"],
  developer: ["input_text"],
  user: ["input_text", "input_image", "input_file", "input_audio"],
  assistant: ["output_text", "refusal"],
};

export function openAiResponsesProblems(body: unknown): string[] {
  if (!isObject(body)) return ["the body is not an object"];
  const { input } = body;
  if (typeof input === "string") return input === "" ? ["input is empty"] : [];
  if (!Array.isArray(input)) return ["input is neither text nor an array"];
  // Calls of an earlier response are known to the server, not to us.
  const continued = isText(body.previous_response_id) || body.conversation !== undefined;
  if (input.length === 0 && !continued) return ["input is empty"];

  const problems: string[] = [];
  const calls = new Map<string, { readonly at: string; answered: boolean }>();
  const itemIds = new Set<string>();
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`;
    if (!isObject(item)) {
      problems.push(`${at}: not an object`);
      continue;
    }
    // "Duplicate item found with id fc_…".
    if (isText(item.id)) {
      if (itemIds.has(item.id)) problems.push(`${at}: item id ${show(item.id)} is used twice`);
      itemIds.add(item.id);
    }
    switch (item.type ?? "message") {
      case "message":
        problems.push(...messageProblems(item, at));
        break;
      case "function_call": {
        problems.push(...callProblems(item, at));
        if (!isText(item.call_id)) break;
        if (calls.has(item.call_id)) problems.push(`${at}: call_id ${show(item.call_id)} is used twice`);
        else calls.set(item.call_id, { at, answered: false });
        break;
      }
      case "function_call_output": {
        if (!isText(item.call_id)) {
          problems.push(`${at}: call_id is missing`);
          break;
        }
        if (typeof item.output !== "string" && !Array.isArray(item.output)) problems.push(`${at}: output is missing`);
        const call = calls.get(item.call_id);
        // "No tool call found for function call output with call_id …".
        if (call === undefined && !continued) problems.push(`${at}: no call ${show(item.call_id)} before its output`);
        if (call?.answered) problems.push(`${at}: call ${show(item.call_id)} is answered twice`);
        if (call !== undefined) call.answered = true;
        break;
      }
      case "reasoning":
        problems.push(...reasoningProblems(item, input[index + 1], at));
        break;
      case "item_reference":
        if (!isText(item.id)) problems.push(`${at}: item_reference without id`);
        break;
      default:
        problems.push(`${at}: item type ${show(item.type)} is unknown`);
    }
  }
  // "No tool output found for function call …".
  for (const [id, call] of calls) if (!call.answered) problems.push(`${call.at}: call ${show(id)} has no output`);
  return problems;
}

function messageProblems(item: Wire, at: string): string[] {
  const allowed = typeof item.role === "string" ? PARTS[item.role] : undefined;
  if (allowed === undefined) return [`${at}: role ${show(item.role)} is unknown`];
  if (typeof item.content === "string") return item.content === "" ? [`${at}: ${item.role} content is empty`] : [];
  if (!Array.isArray(item.content) || item.content.length === 0) return [`${at}: ${item.role} content is empty`];
  return item.content.flatMap((part, index) => {
    const type = isObject(part) ? part.type : part;
    if (typeof type !== "string" || !allowed.includes(type)) {
      return [`${at}.content[${index}]: part ${show(type)} is not allowed for ${item.role}`];
    }
    const isWords = type === "input_text" || type === "output_text";
    return isWords && !isText(part.text) ? [`${at}.content[${index}]: text is empty`] : [];
  });
}

function callProblems(item: Wire, at: string): string[] {
  const problems: string[] = [];
  if (!isText(item.call_id)) problems.push(`${at}: call_id is missing`);
  else if (item.call_id.length > CALL_ID_MAX) problems.push(`${at}: call_id is longer than ${CALL_ID_MAX}`);
  // "Invalid 'input[N].id': 'call_…'. Expected an ID that begins with 'fc'."
  if (item.id !== undefined && !(isText(item.id) && item.id.startsWith("fc"))) {
    problems.push(`${at}: id ${show(item.id)} does not begin with fc`);
  }
  if (typeof item.name !== "string" || !OPENAI_NAME.test(item.name)) {
    problems.push(`${at}: name ${show(item.name)} does not match ${OPENAI_NAME.source}`);
  }
  if (typeof item.arguments !== "string") problems.push(`${at}: arguments is not a string`);
  else if (!holdsJson(item.arguments)) problems.push(`${at}: arguments ${show(item.arguments)} is not JSON`);
  return problems;
}

/** "Item 'rs_…' of type 'reasoning' was provided without its required following item." */
function reasoningProblems(item: Wire, next: unknown, at: string): string[] {
  const problems: string[] = [];
  if (!isText(item.id) && !isText(item.encrypted_content)) problems.push(`${at}: reasoning has no id`);
  if (!Array.isArray(item.summary)) problems.push(`${at}: reasoning has no summary`);
  const type = isObject(next) ? (next.type ?? "message") : undefined;
  const follows =
    type === "function_call" ||
    type === "reasoning" ||
    type === "item_reference" ||
    (type === "message" && isObject(next) && next.role === "assistant");
  if (!follows) problems.push(`${at}: reasoning is not followed by the answer or call it led to`);
  return problems;
}
