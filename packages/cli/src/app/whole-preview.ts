// What does not fit into a dialog stands above it, to the last line: people answer for all of it.

import type { Interrupt } from "@belay/core";
import type { Texts } from "../texts/texts.ts";
import type { Block, View } from "../view/view.ts";
import { MOST_PREVIEW, type PreviewOf, previewRows } from "./dialog-rows.ts";

/** Rows that a dialog takes beside what it shows. */
const AROUND = 14;

/** Each is put there once: when it is asked, when its thread is opened again, or when the terminal has become too small for it. */
export class WholePreviews {
  readonly #previewOf: PreviewOf;
  readonly #texts: Texts;
  readonly #shown = new Set<string>();

  constructor(previewOf: PreviewOf, texts: Texts) {
    this.#previewOf = previewOf;
    this.#texts = texts;
  }

  /** Of the open requests, what has to be put above them now. */
  next(view: View): readonly Block[] {
    return view.requests.flatMap((request) => {
      const whole = this.#shown.has(request.id) ? undefined : wholePreview(request, view, this.#previewOf, this.#texts);
      if (whole === undefined) return [];
      this.#shown.add(request.id);
      return [whole];
    });
  }
}

/** Undefined where the dialog has room for it. */
function wholePreview(request: Interrupt, view: View, previewOf: PreviewOf, texts: Texts): Block | undefined {
  if (request.kind !== "approval") return undefined;
  const rows = previewRows(request, view.columns - 1, previewOf, texts);
  if (rows.length <= Math.min(MOST_PREVIEW, view.rows - AROUND)) return undefined;
  const preview = previewOf(request);
  switch (preview?.kind) {
    case undefined:
      return undefined;
    case "diff":
      return { kind: "diff", diff: preview.diff, whole: true };
    case "command":
      return { kind: "asked", text: preview.command };
    case "args":
      return { kind: "asked", text: JSON.stringify(preview.args, null, 2) };
    default:
      return preview satisfies never;
  }
}
