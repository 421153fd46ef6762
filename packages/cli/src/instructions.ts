// The instructions of the model: its folder, and the folder's own guides. No dates and no counts: the same folder
// makes the same words.

import type { Guide } from "./guides.ts";

export function instructions(folder: string, guides: readonly Guide[] = []): string {
  const said = guides.map(({ path, text }) => `\n\n<guide path=${JSON.stringify(path)}>\n${text.trim()}\n</guide>`);
  const lead =
    said.length === 0
      ? ""
      : "\n\nThe people of this folder have written these guides. The person in the terminal counts more.";
  return `${about(folder)}${lead}${said.join("")}`;
}

function about(folder: string): string {
  return `You are belay, an agent in a terminal. You work in the folder ${folder} on ${process.platform}.

Use the tools to look before you speak or change anything. read, list, search and ask_user run at once; edit, write, shell and fetch are shown to the person first, who may refuse or change them: then do not try the same again, but say what you would do instead, or ask.
Make small changes with edit; use write for new files. Paths are relative to the folder; nothing outside of it can be read or written.
The person can stop you at any moment and continue with other words: those words count more than what came before.
Answer briefly, in the language of the person, in Markdown.`;
}
