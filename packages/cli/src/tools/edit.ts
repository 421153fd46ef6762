import { tool } from "@belay/core";
import { problem } from "../problem.ts";
import { changeMade } from "./change-made.ts";
import { placeOf, readText, refuseProtected, writeText } from "./paths.ts";
import { checked, flag, object, path, text } from "./schema.ts";
import type { SeenTexts } from "./seen-text.ts";

interface Edit {
  readonly path: string;
  readonly old: string;
  readonly new: string;
  readonly all?: boolean;
}

export function editTool(root: string, seen: SeenTexts) {
  const input = object<Edit>(
    { path, old: text("What stands there now, exactly, and once."), new: text("What shall stand there instead.") },
    { all: flag("Replace it wherever it occurs.") },
  );
  return tool({
    name: "edit",
    version: `in ${root}`,
    description:
      "Replaces a text in a file by another one. The old text must be given exactly as it stands in the file.",
    input: checked(input, (args) => changeOf(root, args)),
    serial: true,
    needsApproval: (args, ctx) => seen.asks({ tool: "edit", args, ctx, look: () => changeOf(root, args) }),
    async execute(args, ctx) {
      const change = await seen.approved({
        tool: "edit",
        args,
        ctx,
        look: () => changeOf(root, args),
      });
      const { shown, after, times } = change;
      await writeText(root, args.path, after, change);
      ctx.customAction(changeMade(ctx.callId, change));
      return `Replaced ${times === 1 ? "once" : `${times} times`} in ${shown}.`;
    },
  });
}

async function changeOf(root: string, edit: Edit) {
  refuseProtected(await placeOf(root, edit.path));
  const { text: before, place, mode } = await readText(root, edit.path);
  const { after, times } = replace(before, edit, place.shown);
  return { shown: place.shown, before, after, times, mode };
}

function replace(before: string, edit: Edit, shown: string): { after: string; times: number } {
  if (edit.old === "" || edit.old === edit.new) throw problem("EDIT_EMPTY", { path: shown });
  // Models write \n; a file that has \r\n keeps it.
  const crlf = before.includes("\r\n") && !edit.old.includes("\r") && !before.includes(edit.old);
  const old = crlf ? edit.old.replaceAll("\n", "\r\n") : edit.old;
  const fresh = crlf ? edit.new.replaceAll(/\r?\n/g, "\r\n") : edit.new;
  const parts = before.split(old);
  const times = parts.length - 1;
  if (times === 0) throw problem("EDIT_NOT_FOUND", { path: shown, near: near(before, edit.old) });
  if (times > 1 && edit.all !== true) throw problem("EDIT_AMBIGUOUS", { path: shown, times });
  return { after: parts.join(fresh), times };
}

/** Finds its first line with other blanks: the usual slip. */
function near(before: string, old: string): string {
  const squeeze = (line: string) => line.trim().replace(/\s+/g, " ");
  const first = old
    .split("\n")
    .map(squeeze)
    .find((line) => line !== "");
  if (first === undefined) return "";
  const at = before.split("\n").findIndex((line) => squeeze(line) === first);
  return at < 0 ? "" : `; its first line looks like line ${at + 1}, but what follows, or the blanks, differ`;
}
