// A command of the program, run from the prompt: the same words as in a shell, as a note.

import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Session } from "@belay/core";
import { problem } from "../problem.ts";
import type { BelaySetup } from "../setup.ts";
import type { Texts } from "../texts/texts.ts";
import type { Effect } from "../view/view.ts";

interface Around {
  readonly session: Session;
  readonly texts: Texts;
  readonly columns: number;
  readonly openConsole: (() => Promise<string>) | undefined;
}

export async function runCommand(
  { name, words }: Extract<Effect, { do: "command" }>,
  { dataFolder, configFolder: config, folder }: BelaySetup,
  { session, texts, columns, openConsole }: Around,
): Promise<string> {
  const { threadId: thread, state } = session;
  const isBegun = state !== "created";
  let said = "";
  const out = { write: (text: string) => (said += text) };
  const io = { stdout: out, stderr: out, columns, texts };
  switch (name) {
    case "rules":
      // A thread in which nothing was said is not on record, and remembers nothing.
      await (await import("../commands/rules.ts")).listRules(
        { dataFolder, config, folder, ...(isBegun && { thread }) },
        io,
      );
      return said;
    case "mcp":
      await (await import("../commands/mcp.ts")).listServers({ dataFolder, config, folder }, io);
      return said;
    case "console":
      return openConsole === undefined ? "" : texts.slash.console(await openConsole());
    case "export": {
      const output = resolve(folder, words === "" ? `belay-${thread}.md` : words);
      const path = relative(folder, output);
      if (existsSync(output)) throw problem("FILE_EXISTS", { path });
      const { exportThread } = await import("../commands/export.ts");
      await exportThread({ dataFolder, thread, format: output.endsWith(".json") ? "json" : "markdown", output }, io);
      return texts.slash.exported(path);
    }
    default:
      return name satisfies never;
  }
}
