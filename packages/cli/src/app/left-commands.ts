// Commands of a thread that outlived the process that ran them. The person says what becomes of each: nothing is ended unasked.

import { setTimeout as sleep } from "node:timers/promises";
import { endCommand, isRunning, type RunningCommand, stillRunning } from "../data/running-commands.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { Texts } from "../texts/texts.ts";
import type { Happening, LeftChoice } from "../view/view.ts";

const LOOK_EVERY_MS = 250;

export class LeftCommands {
  readonly #dataFolder: string;
  readonly #texts: Texts;
  readonly #happen: (happening: Happening) => void;
  #commands: readonly RunningCommand[] = [];

  constructor(dataFolder: string, texts: Texts, happen: (happening: Happening) => void) {
    this.#dataFolder = dataFolder;
    this.#texts = texts;
    this.#happen = happen;
  }

  /** Asks about those of a thread, if there are any. */
  ask(threadId: string): void {
    this.#commands = stillRunning(this.#dataFolder, threadId);
    if (this.#commands.length === 0) return;
    this.#note(this.#texts.left.found(leftWords(this.#commands)), "stop");
    this.#happen({ type: "popup", popup: { kind: "left", commands: leftWords(this.#commands), cursor: 0 } });
  }

  /** `isShown` ends the wait when another thread is on the screen. */
  async decide(choice: LeftChoice, isShown: () => boolean): Promise<void> {
    const { left } = this.#texts;
    const commands = this.#commands;
    this.#commands = [];
    if (choice === "leave") return this.#note(left.left, "dim");
    if (choice === "stop") {
      const ended = await Promise.all(commands.map((command) => endCommand(this.#dataFolder, command)));
      const survivors = commands.filter((_, at) => !ended[at]);
      if (survivors.length === 0) return this.#note(left.stopped(leftWords(commands)), "stop");
      return this.#note(this.#texts.stop.survives(leftWords(survivors)), "error");
    }
    this.#note(left.waiting, "dim");
    while (isShown() && commands.some(isRunning)) await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    if (isShown()) this.#note(left.ended(leftWords(commands)), "stop");
  }

  #note(text: string, tone: "dim" | "stop" | "error"): void {
    this.#happen({ type: "note", text, tone });
  }
}

/** Each by its process number and its command. */
export function leftWords(commands: readonly RunningCommand[]): string {
  return commands.map(({ pid, command }) => `pid ${pid} · ${sanitizeLine(command, 120)}`).join("\n");
}
