// How one provider's API writes an answer as server-sent events. Each method gives the text to send.

export type WireFinish = "stop" | "tool-calls" | "length";

export interface WireCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** Half of the arguments are sent, and never the rest. */
  readonly unfinished: boolean;
}

export interface WireFormat {
  begin(): string;
  text(delta: string): string;
  /** With a signature the reasoning is complete. */
  reasoning(delta: string, signature: string | undefined): string;
  call(call: WireCall): string;
  end(finish: WireFinish): string;
  /** An error that is said in the stream, after the answer has begun. */
  fail(message: string): string;
  /** The body of an answer with an error status. */
  refusal(status: number, message: string): object;
}

export const wireUsage = { input: 11, output: 7 };

export function sse(data: object | string, event?: string): string {
  const line = typeof data === "string" ? data : JSON.stringify(data);
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${line}\n\n`;
}

/** The arguments of a call in the two pieces they are sent in. */
export function halves(call: WireCall): string[] {
  const middle = Math.ceil(call.args.length / 2);
  const first = call.args.slice(0, middle);
  return call.unfinished ? [first] : [first, call.args.slice(middle)];
}
