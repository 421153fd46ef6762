// Without a terminal: each line of the input is a question, and what is printed is plain text.
import { createInterface } from "node:readline";
import { follow } from "./follow.mjs";

/** Answers one line after the other. @param {import("@belay/core").Session} session */
export async function answerLines(session, { stdin, stdout }) {
  for await (const line of createInterface({ input: stdin, terminal: false })) {
    const question = line.trim().slice(0, 2000).toWellFormed();
    if (question === "") continue;
    stdout.write(`› ${question}\n`);
    const result = await follow(session.run(question), plainView(stdout));
    if (result.status === "failed") stdout.write(`${result.error.message} ${result.error.hint}\n`);
    stdout.write("\n");
  }
}

function plainView(stdout) {
  let open = false;
  const print = (text) => stdout.write(`${text}\n`);
  return {
    status: () => {},
    text: (text) => {
      stdout.write(text);
      open = !text.endsWith("\n");
    },
    endText: () => {
      if (open) stdout.write("\n");
      open = false;
    },
    note: print,
    toolStart: (_, text) => print(`→ ${text}`),
    toolEnd: (_, text, ending) => print(`← ${text} · ${ending}`),
  };
}
