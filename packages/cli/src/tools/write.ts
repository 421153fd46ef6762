import { tool } from "@belay/core";
import { problem } from "../problem.ts";
import { changeMade } from "./change-made.ts";
import { placeOf, readTextIfAny, refuseProtected, writeText } from "./paths.ts";
import { checked, flag, object, path, text } from "./schema.ts";
import type { SeenTexts } from "./seen-text.ts";

interface Write {
  readonly path: string;
  readonly text: string;
  readonly overwrite?: boolean;
}

export function writeTool(root: string, seen: SeenTexts) {
  const input = object<Write>(
    { path, text: text("The whole text of the file.", { maxLength: 1_000_000 }) },
    { overwrite: flag("Replace the file that is there.") },
  );
  return tool({
    name: "write",
    version: `in ${root}`,
    description:
      "Makes a file of text, and the folders on the way to it. Replaces one that is there only with overwrite.",
    input: checked(input, (args) => changeOf(root, args)),
    serial: true,
    needsApproval: (args, ctx) => seen.asks({ tool: "write", args, ctx, look: () => changeOf(root, args) }),
    async execute(args, ctx) {
      const change = await seen.approved({ tool: "write", args, ctx, look: () => changeOf(root, args) });
      const { shown } = await writeText(root, args.path, args.text, change);
      ctx.customAction(changeMade(ctx.callId, change));
      return `${change.before === undefined ? "Made" : "Replaced"} ${shown}, ${Buffer.byteLength(args.text)} bytes.`;
    },
  });
}

async function changeOf(root: string, { path, text, overwrite }: Write) {
  const place = await placeOf(root, path);
  refuseProtected(place);
  if (place.shown === ".") throw problem("PATH_NOT_FILE", { path });
  const found = await readTextIfAny(root, path);
  if (found !== undefined && overwrite !== true) throw problem("FILE_EXISTS", { path: place.shown });
  return { shown: place.shown, before: found?.text, after: text, mode: found?.mode };
}
