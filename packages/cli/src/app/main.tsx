// The app: keys and events go into the view, the view is drawn, and its effects are applied to the session. Long, and still
// one piece: every effect is applied to the one session that is shown, and a file for each would share all of this state.

import { setTimeout as sleep } from "node:timers/promises";
import type { ReadStream, WriteStream } from "node:tty";
import { BelayError, type Session } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { guideNames, guidesDigest, readGuides } from "../guides.ts";
import { type Key, KeyDecoder } from "../keys/decoder.ts";
import { escapeWait } from "../keys/escape-wait.ts";
import { InterruptToken } from "../keys/interrupt-token.ts";
import { lastStop } from "../last-stop.ts";
import { Problem, problemWords } from "../problem.ts";
import type { BelaySetup } from "../setup.ts";
import { TerminalModes } from "../terminal/modes.ts";
import { type Texts, textsFor } from "../texts/texts.ts";
import { userName } from "../user-name.ts";
import { emptyEditor } from "../view/editor.ts";
import { update } from "../view/update.ts";
import {
  type DialogAnswer,
  type Effect,
  firstView,
  type Happening,
  isRunning,
  needsTime,
  type View,
} from "../view/view.ts";
import { answerOf } from "./answer-of.ts";
import type { AppOptions } from "./app-options.ts";
import { caughtUp } from "./caught-up.ts";
import { earlierInputs } from "./earlier-inputs.ts";
import { earlyKeys } from "./early-keys.ts";
import { backgroundQuestion, isDumb, mayKnowKitty, sizeOf } from "./environment.ts";
import { errorWords } from "./error-words.ts";
import { goOn, isSaid, resultOf } from "./go-on.ts";
import { LeftCommands } from "./left-commands.ts";
import { notification } from "./notify.ts";
import { PlainScreen } from "./plain-screen.ts";
import { readThread } from "./read-thread.ts";
import { effectLabels, listRewind } from "./rewind.ts";
import { runCommand } from "./run-command.ts";
import { InkScreen, type Screen } from "./screen.tsx";
import { stopAnywhere } from "./stop-anywhere.ts";
import { lookOf, themeOfReport } from "./theme.ts";
import { threadsPopup } from "./thread-items.ts";
import { waitingMail } from "./waiting-mail.ts";
import { wordsOf } from "./words-of.ts";

/** How long tools may take after a stop before they are left behind: the prompt must not wait for them. */
const GRACE_MS = 120;
/** Between two drawings of what streams; keys are drawn at once. */
const FRAME_MS = 33;
const TICK_MS = 100;
/** After this long the person learns which MCP servers are still on their way. */
const SLOW_SERVERS_MS = 1_000;
/** How long a thread that is resumed waits for them. */
const MOST_SERVERS_MS = 3_000;

/** Talks until the person quits; resolves to the exit code. `setup` stays open. */
export function runApp(setup: BelaySetup, options: AppOptions = {}): Promise<number> {
  return new App(setup, options).run();
}

class App {
  readonly #setup: BelaySetup;
  readonly #options: AppOptions;
  readonly #texts: Texts;
  readonly #stdin: ReadStream;
  readonly #stdout: WriteStream;
  readonly #modes: TerminalModes;
  readonly #keys: KeyDecoder;
  readonly #token = new InterruptToken();
  readonly #by = userName();
  readonly #left: LeftCommands;
  #view: View;
  #screen: Screen | undefined;
  #session: Session | undefined;
  /** Ends the reading of the present thread's events. */
  #reading = new AbortController();
  #drawing: NodeJS.Timeout | undefined;
  #drawnAt = 0;
  #tookAt = Number.NEGATIVE_INFINITY;
  #ticker: NodeJS.Timeout | undefined;
  #resized: NodeJS.Timeout | undefined;
  /** The folder's guides, as they were last seen. */
  #guides: string;
  #done: (code: number) => void = () => {};

  constructor(setup: BelaySetup, options: AppOptions) {
    this.#setup = setup;
    this.#options = options;
    this.#texts = textsFor(options.lang);
    this.#stdin = options.stdin ?? process.stdin;
    this.#stdout = options.stdout ?? process.stdout;
    const { modelName, folder, demo, contextTokens: contextMost } = setup;
    const guides = guideNames(setup.guides, folder);
    this.#guides = guidesDigest(setup.guides);
    this.#view = firstView({ ...sizeOf(this.#stdout), me: this.#by, demo, contextMost }, Date.now());
    this.#left = new LeftCommands(setup.dataFolder, this.#texts, (happening) => this.#happen(happening));
    const welcome: Happening = { type: "block", block: { kind: "welcome", model: modelName, demo, folder, guides } };
    this.#view = update(this.#view, welcome, this.#texts).view;
    this.#keys = new KeyDecoder((key) => this.#onKey(key), escapeWait(process.env));
    const events = {
      interrupted: () => this.#onKey({ name: "ctrl-c" }),
      continued: () => this.#screen?.redraw(this.#view),
      asked: (code: number) => void this.#quit(code),
      ending: () => this.#screen?.close(this.#view),
    };
    const kind = { isDumb: isDumb(process.env), mayKnowKitty: mayKnowKitty(process.env) };
    this.#modes = new TerminalModes(this.#stdin, this.#stdout, events, kind);
  }

  /** Not before the terminal is ours: a key that is pressed at the sight of the prompt must come through as it is. */
  #openScreen(): Screen {
    const { previewOf, modelName } = this.#setup;
    const around = { texts: this.#texts, previewOf, modelName };
    const dumb = isDumb(process.env);
    if (this.#options.plain || dumb) return new PlainScreen(this.#stdout, around, dumb);
    return new InkScreen(this.#stdout, this.#view, around, lookOf(process.env));
  }

  async run(): Promise<number> {
    const ended = new Promise<number>((resolve) => (this.#done = resolve));
    this.#modes.take();
    this.#tookAt = performance.now();
    this.#screen = this.#openScreen();
    this.#stdin.on("data", this.#onData).on("end", this.#onEnd);
    this.#stdout.on("resize", this.#onResize);
    this.#stdout.write(backgroundQuestion(process.env));
    void this.#awaitServers(this.#warn([]));
    try {
      // After a signal to end, it does not wait for the thread that it was about to open.
      return await Promise.race([this.#begin().then(() => ended), ended]);
    } finally {
      this.#end();
    }
  }

  /** Reports the warnings, except those in `told`; returns all of them. */
  #warn(told: readonly Problem[]): readonly Problem[] {
    const { warnings } = this.#setup;
    for (const warning of warnings.filter((each) => !told.includes(each)))
      this.#happen({ type: "note", text: problemWords(warning, this.#texts), tone: "stop" });
    return warnings;
  }

  /** Names slow servers, and reports the fault of a server when it is known. */
  async #awaitServers(told: readonly Problem[]): Promise<void> {
    const { servers } = this.#setup;
    if (servers === undefined) return;
    await Promise.race([servers.ready, sleep(SLOW_SERVERS_MS, undefined, { ref: false })]);
    const slow = servers.pending.join(", ");
    if (slow !== "") this.#happen({ type: "note", text: this.#texts.app.slowServers(slow), tone: "dim" });
    await servers.ready;
    if (slow !== "") this.#happen({ type: "note", text: this.#texts.app.serversUp, tone: "dim" });
    this.#warn(told);
  }

  async #begin(): Promise<void> {
    const { threadId, fork, pick, initial } = this.#options;
    this.#draw();
    // An existing thread may wait for a call of a server.
    if (threadId !== undefined)
      await Promise.race([this.#setup.servers?.ready, sleep(MOST_SERVERS_MS, undefined, { ref: false })]);
    if (pick) return this.#pick();
    await this.#open(threadId, fork);
    if (initial !== undefined && initial.trim() !== "") {
      this.#happen({ type: "draft", text: initial });
      this.#onKey({ name: "enter" });
    }
  }

  async #pick(): Promise<void> {
    this.#happen({ type: "popup", popup: await threadsPopup(this.#setup, this.#texts) });
  }

  async #openChosen(threadId: string): Promise<void> {
    if (this.#options.isElsewhere?.(threadId)) return this.#quit();
    try {
      await this.#open(threadId, this.#options.fork);
    } catch (error) {
      // There is no thread behind the list: without one the typed text would be lost.
      if (this.#session === undefined) await this.#pick();
      throw error;
    }
  }

  /** Shows a thread from now on: its past first, then new events. */
  async #open(threadId: string | undefined, fork = false): Promise<void> {
    if (fork && threadId !== undefined) {
      await this.#show((await this.#setup.forkThread(threadId)).session);
      return this.#happen({ type: "note", text: this.#texts.picker.forked(threadId), tone: "dim" });
    }
    await this.#show(await this.#setup.openThread(threadId));
  }

  async #show(session: Session): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#session = session;
    const { threadId } = session;
    const row = (await allThreads(this.#setup.runner)).find((each) => each.threadId === threadId);
    // Another terminal may have begun to run it since it was opened.
    const begun = row?.state === "running" && row.lease !== undefined && session.pauseType !== "crash";
    this.#take({ type: "opened", threadId });
    await new Promise<void>((resolve) => {
      void readThread(session, row?.head ?? 0, this.#reading.signal, {
        past: (event) => this.#take({ type: "event", event }),
        caughtUp: () => {
          this.#happen(caughtUp(session, begun));
          resolve();
        },
        live: (event) => this.#onEvent(event),
      });
    });
    // A thread that another process holds has its commands there; the claim of a dead one may take a moment to lapse.
    if (row !== undefined && (row.lease === undefined || session.pauseType === "crash")) this.#left.ask(threadId);
  }

  #onEvent(event: Extract<Happening, { type: "event" }>["event"]): void {
    this.#happen({ type: "event", event });
    if (event.type === "state" && event.state !== "running") this.#token.clear();
  }

  #onData = (bytes: Buffer) => {
    const keys = earlyKeys(bytes, performance.now() - this.#tookAt);
    this.#tookAt = Number.NEGATIVE_INFINITY;
    this.#keys.feed(keys);
  };
  #onEnd = () => this.#do({ do: "quit" });

  #onKey(key: Key): void {
    if (key.name === "report") {
      const theme = themeOfReport(key.text ?? "");
      if (theme !== undefined) this.#screen?.setTheme(theme);
    }
    const effects = this.#take({ type: "key", key, now: Date.now() });
    // The person sees the effect of the key before any other work.
    this.#draw();
    for (const effect of effects) this.#do(effect);
  }

  #onResize = () => {
    this.#take({ type: "resize", ...sizeOf(this.#stdout) });
    clearTimeout(this.#resized);
    this.#resized = setTimeout(() => {
      this.#screen?.redraw(this.#view);
    }, 60);
  };

  /** Something happened that is no key: it is drawn with the next frame. */
  #happen(happening: Happening): void {
    for (const effect of this.#take(happening)) this.#do(effect);
    this.#drawing ??= setTimeout(() => this.#draw(), Math.max(0, this.#drawnAt + FRAME_MS - performance.now()));
  }

  #take(happening: Happening): readonly Effect[] {
    const { view, effects } = update(this.#view, happening, this.#texts);
    this.#view = view;
    return effects;
  }

  #draw(): void {
    clearTimeout(this.#drawing);
    this.#drawing = undefined;
    if (this.#view.past) return;
    const all = this.#screen?.draw(this.#view) ?? true;
    this.#drawnAt = performance.now();
    if (!all) this.#drawing = setTimeout(() => this.#draw(), 1);
    this.#keepTime();
  }

  #keepTime(): void {
    const needed = needsTime(this.#view);
    if (needed) this.#ticker ??= setInterval(() => this.#happen({ type: "tick", now: Date.now() }), TICK_MS);
    if (needed || this.#ticker === undefined) return;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  #do(effect: Effect): void {
    void this.#perform(effect).catch((error: unknown) => {
      if (!(error instanceof BelayError || error instanceof Problem)) throw error;
      this.#refuse(error, wordsOf(effect));
    });
  }

  /** Words that were sent and are part of nothing are given back. */
  #refuse(error: BelayError | Problem, input?: string): void {
    const words = input === undefined ? {} : { input };
    this.#happen({
      type: "refused",
      problem: errorWords(error, this.#texts, this.#setup.runner.owner),
      ...words,
      ...this.#standing(),
    });
  }

  async #perform(effect: Effect): Promise<void> {
    const session = this.#session;
    const by = this.#by;
    switch (effect.do) {
      case "quit":
        return this.#quit();
      case "suspend":
        this.#screen?.park();
        return this.#modes.suspend();
      case "redraw":
        return this.#screen?.redraw(this.#view);
      case "mode":
        return this.#setup.setMode(effect.mode);
      case "open":
        return this.#openChosen(effect.threadId);
      case "theme":
        this.#screen?.setTheme(effect.theme);
        return this.#screen?.redraw(this.#view);
      case "notify":
        this.#stdout.write(notification(this.#texts.notify[effect.why], process.env));
        return;
      case "new":
        return this.#open(undefined);
      case "list-threads":
        return this.#happen({ type: "popup", popup: await threadsPopup(this.#setup, this.#texts, false) });
      case "list-history": {
        const { runner, dataFolder } = this.#setup;
        const items = await earlierInputs(runner, dataFolder);
        return this.#happen({ type: "popup", popup: { kind: "history", items, cursor: 0, query: emptyEditor } });
      }
      default:
    }
    if (session === undefined) return;
    if (effect.do === "run" || effect.do === "resume") this.#tellGuides();
    switch (effect.do) {
      case "fork":
        return this.#open(session.threadId, true);
      case "compact":
        this.#setup.compactNext(effect.focus);
        return this.#happen({ type: "note", text: this.#texts.slash.compacts, tone: "soft" });
      case "command": {
        const { openConsole } = this.#options;
        const around = { session, texts: this.#texts, columns: this.#view.columns - 4, openConsole };
        const text = (await runCommand(effect, this.#setup, around)).trimEnd();
        return this.#happen({ type: "note", text, tone: "soft" });
      }
      case "run":
        return this.#follow(session, effect.input, () => session.run(effect.input));
      case "resume":
        return this.#follow(session, effect.input, () => session.resume({ input: effect.input, by }));
      case "go-on":
        return goOn(session, this.#isShown(session), (error) => this.#refuse(error));
      case "look": {
        // Before the calls: the late result of one is stored by the time that it is no longer among them.
        const running = session.late;
        // A store that cannot be read is reported by the next action on it.
        const waiting = await session.waiting().catch(() => []);
        return session === this.#session ? this.#happen(waitingMail(waiting, running)) : undefined;
      }
      case "interrupt": {
        if (!this.#token.isBound) this.#token.bind(stopAnywhere(this.#setup.runner, session));
        await this.#token.trigger({ reason: "direction_change", graceMs: GRACE_MS, by });
        this.#token.clear();
        return this.#happen({ type: "stop-ended" });
      }
      case "mail": {
        const { kind, text } = effect;
        const { id } = await (kind === "steer" ? session.steer(text, { by }) : session.enqueue(text, { by }));
        return this.#happen({ type: "mailed", mail: { id, kind, text } });
      }
      case "take-back": {
        const taken = await session.withdraw(effect.mail.id);
        return this.#happen({ type: "taken-back", mail: effect.mail, taken });
      }
      case "send-queue": {
        const taken = await Promise.all(effect.mail.map(({ id }) => session.withdraw(id)));
        const texts = effect.mail.filter((_, at) => taken[at]).map(({ text }) => text);
        for (const mail of effect.mail) this.#happen({ type: "mail-gone", id: mail.id });
        if (texts.length === 0)
          return this.#happen({ type: "refused", problem: this.#texts.mail.gone, ...this.#standing() });
        const goesOn = session.state === "paused" || session.state === "error";
        const begin = () => (goesOn ? session.resume({ input: texts, by }) : session.run(texts));
        return this.#follow(session, texts.join("\n"), begin);
      }
      case "answer":
        return this.#answer(session, effect.id, effect.answer);
      case "left":
        return this.#left.decide(effect.choice, this.#isShown(session));
      case "list-rewind":
        return this.#happen({ type: "rewind-items", items: await listRewind(this.#setup.runner, session) });
      case "rewind":
        return this.#rewind(session, effect.item);
      default:
        return effect satisfies never;
    }
  }

  /** Instructions are read once: the person learns that a guide has changed since. */
  #tellGuides(): void {
    const { folder } = this.#setup;
    const now = readGuides(folder);
    if (guidesDigest(now) === this.#guides) return;
    this.#guides = guidesDigest(now);
    const names = guideNames(now.length === 0 ? this.#setup.guides : now, folder).join(", ");
    this.#happen({ type: "note", text: this.#texts.stop.guidesChanged(names), tone: "stop" });
  }

  /** Its work arrives as events; an error that only its result has is reported here. */
  async #follow(session: Session, input: string | undefined, begin: () => ReturnType<Session["run"]>): Promise<void> {
    this.#token.bind(stopAnywhere(this.#setup.runner, session));
    const before = session.messages.length;
    const result = await resultOf(begin);
    if (result.status !== "failed") return;
    await sleep(2 * FRAME_MS);
    const told = session === this.#session && !this.#view.starting && this.#view.state === session.state;
    if (!told) this.#refuse(result.error, isSaid(session.messages.slice(before), input) ? undefined : input);
  }

  async #answer(session: Session, id: string, given: DialogAnswer): Promise<void> {
    const request = this.#view.requests.find((each) => each.id === id);
    try {
      await session.answer(id, answerOf(given, this.#by));
      const scope = given.type === "approve" ? given.remember : undefined;
      if (scope === undefined || scope === "thread" || request?.tool === undefined) return;
      // Only once the answer counts: an approval that came too late leaves nothing behind.
      this.#setup.remember({ tool: request.tool, args: request.args ?? null }, scope, this.#by);
    } catch (error) {
      if (!(error instanceof BelayError)) throw error;
      this.#happen({ type: "answer-refused", id, problem: errorWords(error, this.#texts, this.#setup.runner.owner) });
    }
  }

  async #rewind(
    session: Session,
    item: Parameters<typeof effectLabels>[0] & { messageId: string; text: string },
  ): Promise<void> {
    await this.#show((await this.#setup.forkThread(session.threadId, { before: item.messageId })).session);
    this.#happen({ type: "note", text: this.#texts.picker.rewound(session.threadId), tone: "stop" });
    const labels = effectLabels(item);
    if (labels !== "")
      this.#happen({ type: "note", text: `${this.#texts.picker.effects(item.calls.length)}\n${labels}`, tone: "dim" });
    if (this.#view.draft.text === "") this.#happen({ type: "draft", text: item.text });
    this.#draw();
  }

  #isShown = (session: Session) => () => session === this.#session;

  #standing() {
    const session = this.#session;
    return session === undefined ? {} : { state: session.state, pauseType: session.pauseType };
  }

  async #quit(code = 0): Promise<void> {
    const session = this.#session;
    this.#take({ type: "ending" });
    this.#draw();
    if (session !== undefined && (isRunning(this.#view) || session.state === "running")) {
      const reason = code === 0 ? "quit" : "told to end";
      await lastStop(this.#setup.runner, session, { reason, graceMs: GRACE_MS, by: this.#by });
      // The line about it is on its way here.
      for (let looks = 0; looks < 10 && session.state !== "running" && isRunning(this.#view); looks += 1)
        await sleep(10);
    }
    this.#done(code);
  }

  #end(): void {
    this.#reading.abort();
    this.#keys.stop();
    clearTimeout(this.#drawing);
    clearTimeout(this.#resized);
    clearInterval(this.#ticker);
    this.#stdin.off("data", this.#onData).off("end", this.#onEnd);
    this.#stdout.off("resize", this.#onResize);
    this.#screen?.close(this.#view);
    this.#modes.release();
    const session = this.#session;
    if (session !== undefined && session.state !== "created" && session.state !== "initialized") {
      this.#stdout.write(`${this.#texts.app.goodbye(session.threadId)}\n`);
    }
  }
}
