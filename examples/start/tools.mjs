// What the agent can do: look, and nothing else.
import { jsonSchema, tool } from "@belay/core";

const nothing = jsonSchema({ type: "object", properties: {}, additionalProperties: false });
const one = (name, description) =>
  jsonSchema({
    type: "object",
    properties: { [name]: { type: "string", description, minLength: 1, maxLength: 500 } },
    required: [name],
    additionalProperties: false,
  });

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
      input: one("path", "Relative to the folder."),
      readOnly: true,
      execute: ({ path }) => folder.read(path),
    }),
    tool({
      name: "search_text",
      description: "Finds the lines that contain a text, in whatever case.",
      input: one("text", "What to look for."),
      readOnly: true,
      execute: ({ text }, ctx) => folder.search(text, ctx.signal),
    }),
  ];
}
