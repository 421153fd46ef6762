// A model without a provider: it follows the plan that fits the question. A plan is a generator that asks for tools and
// ends with an answer; it is begun anew for each call and handed the results that the history already has. So it needs
// no memory: stopped anywhere, it goes on from what it is sent.
import { scriptedModel } from "@belay/core/testing";
import { planFor } from "./plans.mjs";

/** @param {{ delayMs: number }} options how long it takes over each word */
export function offlineModel({ delayMs }) {
  return scriptedModel(({ messages }) => speak(messages), { id: "offline", delayMs, chunkSize: 12 });
}

function speak(messages) {
  // The runtime's note: the answer before it was cut, go on from there.
  const goesOn = messages.at(-1).origin === "runtime" && messages.at(-1).role === "user";
  const history = goesOn ? messages.slice(0, -1) : messages;
  const asked = history.findLastIndex((message) => message.role === "user" && message.origin === "person");
  const results = history.slice(asked + 1).filter((message) => message.role === "tool");

  const plan = planFor(textOf(history[asked]), lastWords(history[asked - 1]));
  let step = plan.next();
  for (const { parts } of results) if (!step.done) step = plan.next(parts);
  const { say, calls } = step.done ? { say: step.value, calls: [] } : step.value;
  return [{ text: goesOn ? rest(say, textOf(history.at(-1))) : say }, ...calls];
}

/** What is left to say of an answer. */
function rest(whole, said) {
  return whole.startsWith(said) ? whole.slice(said.length) : `\n\n${whole}`;
}

/** How an answer that the person cut off ended; its last part is the runtime's mark that says so. */
function lastWords(message) {
  if (message?.interrupted === undefined) return undefined;
  const words = textOf({ parts: message.parts.slice(0, -1) })
    .trim()
    .split(/\s+/);
  return words.slice(-4).join(" ") || undefined;
}

function textOf(message) {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
