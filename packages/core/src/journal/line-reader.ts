import type { Fact } from "../event.ts";
import { type Interrupt, isRequest } from "../interrupt/interrupt.ts";
import type { Json } from "../json.ts";
import { decode, type Line } from "./codec.ts";

/** Reads the lines of a thread in order: the arguments of a call, and the request of a pause, may stand in a line before. */
export class LineReader {
  readonly #threadId: string;
  /** By the id of the call. */
  readonly #args = new Map<string, Json>();
  /** By id. */
  readonly #requests = new Map<string, Interrupt>();
  /** True if a line needs arguments or a request of a line that was not read. */
  isMissing = false;

  constructor(threadId: string) {
    this.#threadId = threadId;
  }

  /** Returns the facts of the next line, as they were when they were live. */
  read(line: Line): readonly Fact[] {
    const argsOf = (id: string) => this.#found(this.#args, id);
    const requestOf = (id: string) => this.#found(this.#requests, id);
    const facts = decode(this.#threadId, line, argsOf, requestOf);
    for (const fact of facts) {
      if (fact.type === "action" && isRequest(fact.action.interrupted))
        this.#requests.set(fact.action.interrupted.id, fact.action.interrupted);
      if (fact.type !== "message") continue;
      for (const part of fact.message.parts) if (part.type === "call") this.#args.set(part.id, part.args);
    }
    return facts;
  }

  #found<T>(known: ReadonlyMap<string, T>, id: string): T | undefined {
    this.isMissing ||= !known.has(id);
    return known.get(id);
  }
}
