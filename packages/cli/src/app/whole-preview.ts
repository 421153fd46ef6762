// What does not fit into a dialog stands above it, to the last line: people answer for all of it.

import type { Interrupt } from "@belay/core";
import type { Texts } from "../texts/texts.ts";
import type { Block, View } from "../view/view.ts";
import { MOST_PREVIEW, type PreviewOf, previewRows } from "./dialog-rows.ts";

/** Rows that a dialog takes beside what it shows. */
const AROUND = 14;

/** Undefined where the dialog has room for it. */
export function wholePreview(request: Interrupt, view: View, previewOf: PreviewOf, texts: Texts): Block | undefined {
  if (request.kind !== "approval") return undefined;
  const rows = previewRows(request, view.columns - 1, previewOf, texts);
  if (rows.length <= Math.min(MOST_PREVIEW, view.rows - AROUND)) return undefined;
  const preview = previewOf(request);
  switch (preview?.kind) {
    case undefined:
      return undefined;
    case "diff":
      return { kind: "diff", diff: preview.diff };
    case "command":
      return { kind: "asked", text: preview.command };
    case "args":
      return { kind: "asked", text: JSON.stringify(preview.args, null, 2) };
    default:
      return preview satisfies never;
  }
}
