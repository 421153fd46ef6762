// From the events of a run to what a person sees. A view has `status`, `text`, `endText`, `note`, `toolStart`, `toolEnd`.
import { bytes, count } from "./phrases.mjs";
import { cleaner, cleanLine } from "./text.mjs";

/** Shows the run and resolves to its result. */
export async function follow(run, view) {
  let shown = message("");
  const calls = new Map();
  for await (const event of run) {
    switch (event.type) {
      case "turn-start":
        view.status("thinking");
        break;
      case "text-delta":
        if (shown.id !== event.messageId) shown = message(event.messageId);
        // Where we fell behind and a piece is missing, the message that follows has it.
        if (event.offset !== shown.length) break;
        shown.length += event.text.length;
        view.status("answering");
        view.text(shown.clean(event.text));
        break;
      case "message": {
        if (event.message.role !== "assistant") break;
        const text = event.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
        if (shown.id !== event.message.id) shown = message(event.message.id);
        if (text.length > shown.length) view.text(shown.clean(text.slice(shown.length)));
        view.endText();
        break;
      }
      case "superseded":
        view.endText();
        view.note("(that answer begins again)");
        shown = message("");
        break;
      case "tool-start":
        calls.set(event.callId, calling(event));
        view.toolStart(event.callId, calling(event));
        break;
      case "tool-end":
        view.toolEnd(event.callId, calls.get(event.callId) ?? event.tool, ending(event), event.outcome === "ok");
        break;
      default:
    }
  }
  view.endText();
  return run.result;
}

/** How much of a message is on the screen. */
function message(id) {
  return { id, length: 0, clean: cleaner() };
}

function calling({ tool, args, ranArgs = args }) {
  const [value] = Object.values(ranArgs ?? {});
  return value === undefined ? tool : `${tool} ${cleanLine(String(value), 40)}`;
}

function ending({ tool, outcome, output, held }) {
  if (held) return "not started yet";
  if (outcome === "error") return cleanLine(String(output), 80);
  if (outcome !== "ok") return outcome;
  if (tool === "list_files") return count(output.files.length, "file");
  if (tool === "search_text") return count(output.matches.length, "line");
  return bytes(output.bytes);
}
