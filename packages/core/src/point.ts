// Numbered points: where a stop, a crash or a second opinion can fall between two steps of the kernel. Inert unless a
// test has switched them on; `interruptAnywhere` does.

/** `what` happened, or is about to happen; `detail` is what it happened to. */
export type PointListener = (name: PointName, detail: unknown) => void;

export type PointName =
  | "append:before"
  | "append:after"
  | "load:after"
  | "model:request"
  | "model:event"
  | "model:failed"
  | "tool:start"
  | "tool:yield"
  | "tool:end"
  | "tool:failed"
  | "step:start"
  | "step:end"
  | "ask:raised"
  | "answer:taken"
  | "hook:begin"
  | "hook:end"
  | "child:start"
  | "child:end";

let listener: PointListener | undefined;

export function point(name: PointName, detail?: unknown): void {
  if (listener !== undefined) listener(name, detail);
}

/** Switches the points on; returns how to switch them off. One listener at a time: two would take each other's points for their own. */
export function onPoint(listen: PointListener): () => void {
  if (listener !== undefined) {
    throw new Error("Somebody listens to the points of this process already: wait until that attack is over.");
  }
  listener = listen;
  return () => {
    if (listener === listen) listener = undefined;
  };
}
