// One run without a screen: -p, or input by a pipe. The words go to stdout, everything about the run to stderr.

import type { BelayEvent, Receipt, Run, RunResult, Session } from "@belay/core";
import { lastStop } from "../last-stop.ts";
import { forPeople, peopleWords, problemWords } from "../problem.ts";
import { requestWords } from "../request-words.ts";
import type { BelaySetup } from "../setup.ts";
import { sanitize, sanitizeLine } from "../terminal/sanitize.ts";
import type { Texts } from "../texts/texts.ts";
import { userName } from "../user-name.ts";
import { EXIT, exitOfLost } from "./exit-codes.ts";
import { receiptLine } from "./receipt-line.ts";
import { toldToEnd } from "./told-to-end.ts";
import { writeJson } from "./write-json.ts";

export type OutputFormat = "text" | "json" | "stream-json";

export interface HeadlessOptions {
  /** Undefined: continue the present run. */
  readonly input: string | undefined;
  readonly format: OutputFormat;
  readonly texts: Texts;
}

export interface Terminal {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Where signals come from. */
  readonly process: Pick<NodeJS.Process, "on" | "off" | "exit">;
}

/** Resolves to the exit code. */
export async function runHeadless(
  setup: BelaySetup,
  session: Session,
  options: HeadlessOptions,
  terminal: Terminal = { stdout: process.stdout, stderr: process.stderr, process },
): Promise<number> {
  const { format, texts } = options;
  const run = begin(session, options.input);
  if (run === undefined) {
    terminal.stderr.write(`${texts.commands.nothingToDo}\n`);
    return EXIT.usage;
  }
  const watch = watchSignals(setup, session, terminal);
  try {
    const told = format === "stream-json" ? tellEvents(run, terminal) : undefined;
    const result = await run.result;
    await told;
    const receipt = await watch.receipt();
    const code = watch.code ?? codeOf(result);
    report(setup, session, result, receipt, code, options, terminal);
    return code;
  } finally {
    watch.end();
  }
}

function begin(session: Session, input: string | undefined): Run<string> | undefined {
  const { state } = session;
  if (state === "paused") return session.resume({ input, by: userName() });
  if (input !== undefined) return session.run(input);
  return state === "error" ? session.resume() : undefined;
}

function codeOf(result: RunResult<string>): number {
  switch (result.status) {
    case "completed":
      return EXIT.done;
    case "interrupted":
      return result.interruptType === "user_interrupt" ? EXIT.interrupted : EXIT.waiting;
    case "failed":
    case "terminated":
      return EXIT.failed;
    default:
      return result satisfies never;
  }
}

async function tellEvents(run: AsyncIterable<BelayEvent>, { stdout }: Terminal): Promise<void> {
  for await (const event of run) {
    // A slow reader slows only itself: the run continues, and a reader that falls behind gets `gap`.
    if (!stdout.write(`${writeJson(event)}\n`)) await drained(stdout);
  }
}

function drained(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}

function report(
  setup: BelaySetup,
  session: Session,
  result: RunResult<string>,
  receipt: Receipt | undefined,
  exitCode: number,
  { format, texts }: HeadlessOptions,
  { stdout, stderr }: Terminal,
): void {
  const { threadId } = session;
  if (format === "text") {
    const text =
      result.status === "completed" ? result.text : result.status === "interrupted" ? result.partialText : "";
    if (text.trim() !== "") stdout.write(`${sanitize(text).trimEnd()}\n`);
  } else {
    stdout.write(
      `${writeJson({ type: "result", threadId, model: setup.modelName, exitCode, ...told(result), ...(receipt && { receipt }) })}\n`,
    );
  }
  if (result.status === "failed") {
    stderr.write(`${errorLines(result.error, texts)}\n`);
  }
  if (result.status === "completed") {
    if (result.finish === "content-filter") stderr.write(`${texts.stop.filtered}\n`);
    else if (result.text.trim() === "") stderr.write(`${texts.stop.noWords}\n`);
  }
  if (result.status !== "interrupted") return;
  if (result.interruptType === "user_interrupt") {
    stderr.write(`${receipt === undefined ? texts.stop.interrupted : receiptLine(receipt, session, texts)}\n`);
  } else {
    for (const request of result.interrupts) {
      // A released run asks no person.
      if (request.kind === "manual") continue;
      const what = sanitizeLine(requestWords(request, texts), 200);
      const id = sanitizeLine(request.id, 100);
      const isQuestion = request.kind === "input" || request.kind === "custom";
      const command = isQuestion ? texts.commands.answerText(id) : `belay answer ${id} yes`;
      stderr.write(`${texts.commands.waitsFor(what, command)}\n`);
    }
  }
  stderr.write(`${texts.commands.goOn(sanitizeLine(threadId, 200))}\n`);
}

/** A result as JSON: an error by its words; no handle, which is a key to the thread. */
function told(result: RunResult<string>): object {
  if (result.status === "interrupted") {
    const { handle: _, interrupt: __, ...rest } = result;
    return rest;
  }
  if (result.status !== "failed") return result;
  const { code, message, hint } = result.error;
  return { ...result, error: { code, message, hint } };
}

/** How long tools may take to end when the program must end. */
const GRACE_MS = 500;

/**
 * Ctrl-C stops the run, and forces it the second time. SIGTERM, SIGHUP and output that cannot be written stop it too, so that
 * its text is kept; open requests stay open, because the end of the program is not a person's answer.
 */
function watchSignals(setup: BelaySetup, session: Session, { stdout, process }: Terminal) {
  const told = toldToEnd(process, ["SIGTERM", "SIGHUP"]);
  let lost: number | undefined;
  let pressed = 0;
  let receipt: Promise<Receipt | undefined> | undefined;
  const interrupt = () => {
    pressed += 1;
    receipt = session.interrupt({ reason: "SIGINT", by: userName(), ...(pressed > 1 && { force: true }) });
    receipt.catch(() => {});
  };
  const end = (reason: string) => {
    receipt ??= lastStop(setup.runner, session, { reason, graceMs: GRACE_MS, by: userName() });
  };
  told.signal.addEventListener("abort", () => end(String(told.signal.reason)));
  const broken = (error: NodeJS.ErrnoException) => {
    lost = exitOfLost(error);
    // Each write that fails says so.
    end("the output cannot be written");
  };
  process.on("SIGINT", interrupt);
  stdout.on("error", broken);
  return {
    get code() {
      return lost ?? told.code;
    },
    async receipt(): Promise<Receipt | undefined> {
      const known = await receipt?.catch(() => undefined);
      return known?.accepted ? known : undefined;
    },
    end(): void {
      process.off("SIGINT", interrupt);
      told.end();
    },
  };
}

/** Returns an error as a person reads it: the problem, and on the next line the next action. */
export function errorLines(error: unknown, texts: Texts): string {
  const known = forPeople(error);
  if (known !== undefined) return sanitizeLine(problemWords(known, texts), 2_000);
  return peopleWords(error, texts)
    .map((line) => sanitizeLine(line, 2_000))
    .join("\n");
}
