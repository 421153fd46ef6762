// Numbered points between two steps of the kernel, at which a test can place a stop, a crash or a second command. They
// are inert until a test switches them on, as `interruptAnywhere` does.

/** Receives each point: the step that happened, or is about to happen, and its subject. */
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

/**
 * Switches the points on and returns a function that switches them off. Takes one listener at a time: two would claim
 * each other's points.
 */
export function onPoint(listen: PointListener): () => void {
  if (listener !== undefined) {
    throw new Error("Another attack uses the points of this process already: wait until it is over.");
  }
  listener = listen;
  return () => {
    if (listener === listen) listener = undefined;
  };
}
