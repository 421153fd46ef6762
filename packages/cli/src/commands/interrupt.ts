// belay interrupt: stops a thread's run, in any process, and prints the receipt.

import { allThreads } from "../all-threads.ts";
import { factsOf } from "../facts.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { receiptLine } from "../headless/receipt-line.ts";
import { writeJson } from "../headless/write-json.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";

export interface InterruptCommand extends CommandOptions {
  readonly thread: string;
  readonly reason?: string;
  readonly force?: boolean;
  readonly by: string;
}

export async function interrupt(options: InterruptCommand, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const ids = (await allThreads(desk.runner)).map(({ threadId }) => threadId);
    const threadId = findId("thread", ids, options.thread);
    const { reason, force, by } = options;
    const receipt = await desk.runner.interrupt(threadId, { by, ...(reason && { reason }), ...(force && { force }) });
    if (options.json) {
      io.stdout.write(`${writeJson({ threadId, ...receipt })}\n`);
    } else if (receipt.accepted) {
      const messages = (await factsOf(desk.runner, threadId)).flatMap((fact) =>
        fact.type === "message" ? [fact.message] : [],
      );
      io.stdout.write(`${receiptLine(receipt, { messages }, io.texts)}\n`);
    } else {
      io.stdout.write(`${io.texts.stop.nothing}\n`);
    }
    return receipt.accepted ? EXIT.done : EXIT.failed;
  } finally {
    await desk.close();
  }
}
