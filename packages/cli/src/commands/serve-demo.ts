// belay serve --demo: the console on a scratch store with a tour of real runs. It needs no key, and keeps nothing.

import { crashDemo, startDemo } from "@belay/console/demo";
import { EXIT } from "../headless/exit-codes.ts";
import { toldToEnd } from "../headless/told-to-end.ts";
import { problem } from "../problem.ts";
import type { CommandIo } from "./command.ts";
import { isLoopback, listen, openBrowser } from "./listen.ts";

export interface ServeDemoOptions {
  readonly port: number;
  readonly host: string;
  readonly open?: boolean;
  /** Set by the demo itself: the store of the process that is to be killed in the middle of an import. */
  readonly demoCrash?: string;
}

export async function serveDemo(options: ServeDemoOptions, io: CommandIo): Promise<number> {
  if (options.demoCrash !== undefined) return crashDemo(options.demoCrash);
  // Every visitor of the demo may look as any of its people.
  if (!isLoopback(options.host)) throw problem("SERVE_OPEN", { host: options.host });
  const end = toldToEnd(process, ["SIGINT", "SIGTERM", "SIGHUP"]);
  const crash = (folder: string) => [process.argv[1]!, "serve", "--demo", "--demo-crash", folder];
  const demo = await startDemo({ crash });
  try {
    const http = await listen(demo.fetch, { host: options.host, port: options.port, orFree: true });
    io.stdout.write(`${io.texts.commands.serving(http.url)}\n`);
    io.stderr.write(`${io.texts.commands.demoEnds}\n`);
    if (options.open) openBrowser(http.url);
    if (!end.signal.aborted) await new Promise((resolve) => end.signal.addEventListener("abort", resolve));
    http.close();
    return end.code === EXIT.interrupted ? EXIT.done : (end.code ?? EXIT.done);
  } finally {
    await demo.close();
    end.end();
  }
}
