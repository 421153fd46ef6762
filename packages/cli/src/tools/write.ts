import { tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { problem } from "../problem.ts";
import { approvalUnlessAllowed } from "./approval.ts";
import { unifiedDiff } from "./diff.ts";
import { placeOf, readTextIfAny, refuseProtected, writeText } from "./paths.ts";
import { checked, flag, object, path, text } from "./schema.ts";

interface Write {
  readonly path: string;
  readonly text: string;
  readonly overwrite?: boolean;
}

export function writeTool(root: string, judge: Judge) {
  const input = object<Write>(
    { path, text: text("The whole text of the file.", { maxLength: 1_000_000 }) },
    { overwrite: flag("Replace the file that is there.") },
  );
  return tool({
    name: "write",
    version: `in ${root}`,
    description:
      "Makes a file of text, and the folders on the way to it. Replaces one that is there only with overwrite.",
    input: checked(input, (args) => before(root, args)),
    serial: true,
    needsApproval: (args) =>
      approvalUnlessAllowed(judge, "write", args, async () => {
        const { shown, text } = await before(root, args);
        const verb = text === undefined ? "Create" : "Replace";
        return { reason: `${verb} ${shown}?`, context: { path: shown, diff: unifiedDiff(shown, text, args.text) } };
      }),
    async execute(args) {
      const { text, mode } = await before(root, args);
      const { shown } = await writeText(root, args.path, args.text, mode);
      return `${text === undefined ? "Made" : "Replaced"} ${shown}, ${Buffer.byteLength(args.text)} bytes.`;
    },
  });
}

async function before(root: string, { path, overwrite }: Write) {
  const place = await placeOf(root, path);
  refuseProtected(place);
  if (place.shown === ".") throw problem("PATH_NOT_FILE", { path });
  const found = await readTextIfAny(root, path);
  if (found !== undefined && overwrite !== true) throw problem("FILE_EXISTS", { path: place.shown });
  return { shown: place.shown, text: found?.text, mode: found?.mode };
}
