// The demo on a free port of this machine, for tests and pictures.

import { demoProgram } from "../../../../scripts/console.mjs";
import { type Demo, startDemo } from "../demo/demo-server.ts";
import { openSite, type Site } from "./open-site.ts";

export interface OpenConsole extends Site {
  readonly demo: Demo;
}

export async function openConsole(settings: { tour?: boolean; delayMs?: number } = {}): Promise<OpenConsole> {
  const program = await demoProgram();
  const crash = (folder: string) => [program, "serve", "--demo", "--demo-crash", folder];
  const demo = await startDemo({ crash, ...settings });
  const site = await openSite(demo);
  return {
    ...site,
    demo,
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await demo.close();
    },
  };
}
