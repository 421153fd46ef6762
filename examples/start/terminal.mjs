// The program for a person at a terminal: keys in, a screen out, and one session between them.
import { Editor } from "./editor.mjs";
import { follow } from "./follow.mjs";
import { Keys } from "./keys.mjs";
import { count } from "./phrases.mjs";
import { Screen } from "./screen.mjs";
import { cleanLine, spell } from "./text.mjs";
import { CHOICES, editable, edited, readVerdict } from "./verdict.mjs";

const PASTE_ON = "\u001b[?2004h";
const PASTE_OFF = "\u001b[?2004l";
const SHOW_CURSOR = "\u001b[?25h";
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

const MOST_LINES = 12;

const WAITING = "Interrupted. What should I do instead? (Enter = go on)";
const FAILED = "That failed. What should I do instead? (Enter = try again)";

/** Talks until the person quits. @param {import("@belay/core").Session} session */
export function talk(session, { stdin, stdout, color, welcome }) {
  return new Promise((resolve, reject) => new Talk(session, stdin, stdout, color, resolve, reject).start(welcome));
}

/** Gives the terminal back as it was. Safe to call at any time, any number of times. */
export function restoreTerminal(stdin, stdout) {
  try {
    if (stdin.isRaw) stdin.setRawMode(false);
    stdout.write(PASTE_OFF + SHOW_CURSOR);
  } catch {
    // The terminal is gone: there is nothing to restore.
  }
}

class Talk {
  #session;
  #stdin;
  #stdout;
  #screen;
  #editor = new Editor();
  #keys = new Keys((name, text) => this.#key(name, text));
  #resolve;
  #reject;
  /**
   * "asking" for a question, "running", "stopping", "waiting" after a stop or a failure, "deciding" about what the agent
   * wants to do, or "editing" that.
   */
  #mode = "asking";
  /** What there is to decide. */
  #request;
  #question = "";
  #hint = "";
  #doing = "thinking";
  #tools = new Map();
  #frame = 0;
  #ticker;
  #quitting = false;
  #goesOn = false;

  constructor(session, stdin, stdout, color, resolve, reject) {
    this.#session = session;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#screen = new Screen(stdout, { color });
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(welcome) {
    this.#stdin.setRawMode(true);
    this.#stdout.write(PASTE_ON);
    this.#stdin.on("data", this.#onData).on("end", this.#onEnd);
    this.#stdout.on("resize", this.#draw);
    process.on("SIGINT", this.#onInterrupt);
    for (const [text, style] of welcome) this.#screen.line(text, style);
    this.#draw();
  }

  #onData = (chunk) => this.#keys.feed(chunk);
  #onEnd = () => this.#quit();
  #onInterrupt = () => this.#key("ctrl-c");

  #key(name, text) {
    if (this.#quitting) return;
    const again = this.#hint !== "";
    this.#hint = "";
    if (name === "ctrl-c" && again) return this.#quit();
    if (name === "ctrl-d" && this.#editor.text === "") return this.#quit();
    if (name === "ctrl-c") this.#hint = "Ctrl-C again quits";
    if (name === "escape" || name === "ctrl-c") this.#escape();
    else if (name === "enter") this.#enter();
    else this.#editor.key(name === "ctrl-d" ? "delete" : name, text);
    this.#draw();
  }

  /** Stops what runs, or what waits for a yes; where neither is the case, clears the line. */
  #escape() {
    if (this.#mode === "running") {
      this.#mode = "stopping";
      // How it ended comes with the run's result.
      this.#session.interrupt({ reason: "direction_change" }).catch(this.#reject);
    } else if (this.#mode === "deciding") {
      this.#mode = "stopping";
      this.#screen.line(this.#question, "yellow");
      const stopped = this.#session.interrupt({ reason: "direction_change" });
      stopped.then(() => this.#rest({ status: "interrupted" })).catch(this.#reject);
    } else if (this.#mode === "editing") {
      this.#mode = "deciding";
      this.#editor.key("clear");
    } else if (this.#mode !== "stopping") {
      this.#editor.key("clear");
    }
  }

  #enter() {
    // Typed while it runs: the line stays until there is a question that it answers.
    if (this.#mode === "running" || this.#mode === "stopping") return;
    if (this.#mode === "deciding" || this.#mode === "editing") return this.#decide();
    const blank = this.#editor.text.trim() === "";
    if (this.#mode === "asking" && blank) return;
    const waited = this.#mode === "waiting";
    const input = this.#editor.take();
    if (waited) this.#screen.line(this.#question, "yellow");
    this.#screen.line(blank ? "› (go on)" : `› ${input}`, "bold");
    this.#screen.line("");
    this.#goesOn = waited && blank;
    this.#run(() => (waited ? this.#session.resume({ input }) : this.#session.run(input))).catch(this.#reject);
  }

  #decide() {
    const line = this.#editor.text.trim();
    if (line === "") return;
    const verdict = this.#mode === "editing" ? edited(this.#request, line) : readVerdict(line);
    this.#editor.take();
    if (verdict === "edit") {
      this.#mode = "editing";
      return this.#editor.fill(String(editable(this.#request)[1]));
    }
    this.#screen.line(this.#question, "yellow");
    this.#screen.line(`› ${line}`, "bold");
    this.#screen.line("");
    const answers = { [this.#request.id]: verdict };
    this.#run(() => this.#session.resume(verdict ? { answers } : { input: line })).catch(this.#reject);
  }

  async #run(begin) {
    this.#mode = "running";
    this.#doing = "thinking";
    this.#ticker = setInterval(this.#tick, 100);
    let result;
    try {
      result = await follow(begin(), this.#view);
    } finally {
      clearInterval(this.#ticker);
      this.#tools.clear();
    }
    this.#rest(result);
  }

  /** Nothing runs: what does the person want, or allow? */
  #rest({ status, error }) {
    if (this.#quitting) return;
    this.#mode = status === "completed" ? "asking" : "waiting";
    this.#question = status === "failed" ? FAILED : WAITING;
    if (status === "failed") this.#screen.line(cleanLine(`${error.message} ${error.hint}`, 500), "red");
    const [request] = this.#session.pauseType === "tool_interrupt" ? this.#session.interrupts : [];
    if (request !== undefined) this.#ask(request);
    this.#screen.line("");
    this.#draw();
  }

  #ask(request) {
    // An answer that was refused leaves the same request open.
    if (this.#request?.id !== request.id) {
      const lines = spell(String(request.context ?? ""))
        .trimEnd()
        .split("\n");
      for (const line of lines.slice(0, MOST_LINES)) this.#screen.line(`  │ ${line}`, "dim");
      if (lines.length > MOST_LINES)
        this.#screen.line(`  … and ${count(lines.length - MOST_LINES, "more line")}`, "dim");
    }
    this.#request = request;
    this.#question = spell(request.reason);
    this.#mode = "deciding";
  }

  /** What `follow` tells. */
  #view = {
    status: (doing) => {
      this.#doing = doing;
    },
    text: (text) => {
      // Where an answer goes on, it shows that it does.
      if (this.#goesOn) this.#screen.write(`… ${text.trimStart()}`);
      else this.#screen.write(text);
      this.#goesOn = false;
    },
    endText: () => this.#screen.endText(),
    note: (text) => this.#screen.line(text, "dim"),
    toolStart: (id, text) => {
      this.#goesOn = false;
      this.#tools.set(id, text);
      this.#draw();
    },
    toolEnd: (id, text, ending, ok) => {
      this.#tools.delete(id);
      this.#screen.line(`${ok ? "✓" : "✗"} ${text} · ${ending}`, ok ? "green" : "yellow");
      this.#draw();
    },
  };

  #tick = () => {
    this.#frame += 1;
    this.#draw();
  };

  #draw = () => {
    const { text, beforeCursor: before } = this.#editor;
    const prompt = this.#mode === "editing" ? `${editable(this.#request)[0]} › ` : "› ";
    const input = { prompt, before, text };
    const hint = this.#hint === "" ? [] : [{ text: this.#hint, style: "dim" }];
    if (this.#mode === "asking") return this.#screen.live(hint, input);
    const question = { text: this.#question, style: "yellow" };
    if (this.#mode === "waiting") return this.#screen.live([question, ...hint], input);
    if (this.#mode === "deciding" || this.#mode === "editing") {
      const keys = this.#mode === "deciding" ? CHOICES : "Enter: run it like this · ESC: back";
      return this.#screen.live([question, { text: keys, style: "dim" }, ...hint], input);
    }
    const frame = FRAMES[this.#frame % FRAMES.length];
    const tools = [...this.#tools.values()].map((tool) => ({ text: `${frame} ${tool}`, style: "cyan" }));
    const status = this.#mode === "stopping" ? "stopping" : `${this.#doing} · ESC stops it`;
    const rows = [...tools.slice(0, 5), { text: `${frame} ${status}`, style: "dim" }, ...hint];
    this.#screen.live(rows, text === "" ? undefined : input);
  };

  #quit() {
    if (this.#quitting) return;
    this.#quitting = true;
    this.#keys.stop();
    clearInterval(this.#ticker);
    this.#stdin.off("data", this.#onData).off("end", this.#onEnd);
    this.#stdout.off("resize", this.#draw);
    process.off("SIGINT", this.#onInterrupt);
    this.#screen.close();
    this.#resolve();
  }
}
