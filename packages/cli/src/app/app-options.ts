import type { ReadStream, WriteStream } from "node:tty";

export interface AppOptions {
  /** Continues this thread; without it a new one begins. */
  readonly threadId?: string;
  /** On a copy of it. */
  readonly fork?: boolean;
  /** Lets the person choose one first. */
  readonly pick?: boolean;
  /** True for a thread about another folder: the app ends, and its caller opens the thread there. */
  readonly isElsewhere?: (threadId: string) => boolean;
  /** Starts the console in this process, or finds it started. Returns its address. */
  readonly openConsole?: () => Promise<string>;
  readonly lang?: string;
  /** Lines only, nothing painted over: for screen readers. */
  readonly plain?: boolean;
  /** Asked at once. */
  readonly initial?: string;
  readonly stdin?: ReadStream;
  readonly stdout?: WriteStream;
}
