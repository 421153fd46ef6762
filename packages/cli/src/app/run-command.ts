// A command of the program, run from the prompt: the same words as in a shell, as a note.

import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { problem } from "../problem.ts";
import type { BelaySetup } from "../setup.ts";
import type { Texts } from "../texts/texts.ts";
import type { Effect } from "../view/view.ts";

export async function runCommand(
  { name, words }: Extract<Effect, { do: "command" }>,
  { dataFolder, configFolder: config, folder }: BelaySetup,
  { threadId: thread, texts, columns }: { readonly threadId: string; readonly texts: Texts; readonly columns: number },
): Promise<string> {
  let said = "";
  const out = { write: (text: string) => (said += text) };
  const io = { stdout: out, stderr: out, columns, texts };
  switch (name) {
    case "rules":
      await (await import("../commands/rules.ts")).listRules({ dataFolder, config, thread }, io);
      return said;
    case "mcp":
      await (await import("../commands/mcp.ts")).listServers({ dataFolder, config }, io);
      return said;
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
