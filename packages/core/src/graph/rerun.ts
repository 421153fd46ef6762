// A node that cannot go on yet asks to be run again, with what it was given, once somebody says so (G2).

import { type Json, toJson } from "../json.ts";

export class Rerun extends Error {
  readonly extra: Json;

  constructor(extra: Json) {
    super("The node asks to be run again.");
    this.name = "Rerun";
    this.extra = extra;
  }
}

/** To throw in a node: the run pauses, and resume() runs the node again. `extra` is told to whoever looks. */
export function rerun(extra: unknown = null): Error {
  return new Rerun(toJson(extra, "What rerun() was given"));
}
