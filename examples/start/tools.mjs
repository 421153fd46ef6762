// What the agent can do: look; and write a new file, which a person has to allow.
import { humanApproval, jsonSchema, tool } from "@belay/core";
import { count } from "./phrases.mjs";

const nothing = jsonSchema({ type: "object", properties: {}, additionalProperties: false });
const texts = (properties) =>
  jsonSchema({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });
const text = (description, maxLength = 500) => ({ type: "string", description, minLength: 1, maxLength });

/** @param {Awaited<ReturnType<import("./folder.mjs").openFolder>>} folder */
export function folderTools(folder) {
  return [
    tool({
      name: "list_files",
      description: "Lists the files of the folder.",
      input: nothing,
      readOnly: true,
      execute: (_, ctx) => folder.list(ctx.signal),
    }),
    tool({
      name: "read_file",
      description: "Reads the beginning of a file.",
      input: texts({ path: text("Relative to the folder.") }),
      readOnly: true,
      execute: ({ path }) => folder.read(path),
    }),
    tool({
      name: "search_text",
      description: "Finds the lines that contain a text, in whatever case.",
      input: texts({ text: text("What to look for.") }),
      readOnly: true,
      execute: ({ text }, ctx) => folder.search(text, ctx.signal),
    }),
    tool({
      name: "write_file",
      description: "Makes a new file.",
      input: texts({ path: text("Relative to the folder."), text: text("What it says.", 20_000) }),
      // The run pauses before the call, and the person sees this; what they approve is what runs.
      needsApproval: ({ path, text }) =>
        humanApproval(`Write ${path}, ${count(text.trimEnd().split("\n").length, "line")}?`, { context: text }),
      execute: ({ path, text }) => folder.write(path, text),
    }),
  ];
}
