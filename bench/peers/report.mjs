// docs/comparison.md, from the answers of one run.

const speed = {
  loop: ["one turn of model and tool, 50 in a run", "µs"],
  chunk: ["one chunk of text, to a reader", "µs"],
  stop: ["from the stop to the end of the call, median", "ms"],
  durable: ["200 inputs with one tool call each, on disk", "ms"],
  resume: ["a new process: from that file to the model's request", "ms"],
  heap: ["heap of an idle conversation of 20 messages", "KB"],
  runs: ["1,000 runs of 5 tool turns at once", "ms"],
  cold: ["import in a new process", "ms"],
};

const number = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const table = (head, rows) =>
  [head, head.map((_, i) => (i === 0 ? "---" : "---")), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** `notes` collects the reasons of questions that could not be asked. */
function measured(found, names, notes) {
  return Object.entries(speed).map(([question, [title, unit]]) => {
    const own = found[question].belay.value;
    const cells = names.map((name) => {
      const { value, error } = found[question][name];
      if (error !== undefined) {
        notes.push(`${name} · ${title}: ${error}.`);
        return "not run";
      }
      return name === "belay" || own === undefined ? `${number(value)} ${unit}` : `${number(value / own)}×`;
    });
    return [title, ...cells];
  });
}

const afterStop = ({ failure, problem }) =>
  failure
    ? `the next input failed: ${failure}`
    : problem
      ? `the next prompt has ${problem}`
      : "the next prompt is valid";

const behaviour = {
  "mid-text": [
    "a stop in mid-text",
    ({ shown, kept, text, ...next }) => {
      const history =
        kept === shown
          ? "all shown words kept"
          : kept === ""
            ? "none of the shown words kept"
            : "a part of the shown words kept";
      return `${history}; the model ${text.includes(shown) ? "sees" : "does not see"} them; ${afterStop(next)}`;
    },
  ],
  "deaf-tool": [
    "a stop while a tool ignores its signal for 1.5 s",
    ({ ms, history, ...next }) =>
      `returns after ${number(ms)} ms; history: ${history ?? "each call has a result"}; ${afterStop(next)}`,
  ],
  race: [
    "one approval, two resumes at once",
    ({ outcomes, paid }) =>
      `the tool ran ${paid}×; outcomes: ${outcomes.map((each) => String(each).slice(0, 60)).join(", ")}`,
  ],
  "after-crash": ["SIGKILL after a tool, then a new process", ({ how, paid }) => `the tool ran ${paid}×; ${how}`],
};

function shownBehaviour(found, names, titles) {
  return Object.entries(behaviour).map(([question, [title, show]]) => [
    title,
    ...names.map((name) => {
      const crashed = found.crash[name];
      if (question === "after-crash" && crashed.error !== "ended by SIGKILL")
        return `not run: ${crashed.error ?? `${titles[name]} did not reach the crash`}`;
      const { value, error } = found[question][name];
      return (error === undefined ? show(value) : `not run: ${error}`).replaceAll("|", "\\|").replaceAll("\n", " ");
    }),
  ]);
}

export function comparisonDoc(found, peers, versions, node) {
  const names = Object.keys(peers);
  const titles = Object.fromEntries(names.map((name) => [name, peers[name].title]));
  const notes = [];
  const rows = measured(found, names, notes);
  const behaviours = shownBehaviour(found, names, titles);
  const used = names
    .filter((name) => name !== "belay")
    .map(
      (name) => `${titles[name]} (${peers[name].packages.map((each) => `\`${each}\` ${versions[each]}`).join(", ")})`,
    );
  const turned = behaviours.map(([title, ...cells]) => [
    `### ${title[0].toUpperCase()}${title.slice(1)}`,
    table(["library", "behaviour"], cells.map((cell, i) => [titles[names[i]], cell])), // biome-ignore format: one line
  ]);
  return `${[
    "# Comparison",
    "`npm run bench:peers` writes this page: it installs `bench/peers`, runs every library with one scripted model and one set of tools, each question in a process of its own, and prints its measurements. " +
      `Node ${node}. Beside Belay of this repository: ${used.join(", ")}.`,
    "## Cost",
    "The column of Belay has the measured time or size; the others are ratios to it, from the same run. A model call takes a second in practice, so a ratio of a few microseconds is not felt. Ratios say how much of a machine the library itself takes.",
    table(["question", ...names.map((name) => titles[name])], rows),
    ...(notes.length > 0
      ? [notes.map((note) => `- ${note.replace(/^[\w-]+/, (name) => titles[name] ?? name)}`).join("\n")]
      : []),
    "## Behaviour",
    "Each cell is an observation of a run, not a quote of a manual.",
    ...turned.flat(),
    "## Caveats",
    [
      "- This is a benchmark by the authors of one of the libraries. `bench/peers` has one short file for each library: corrections are welcome.",
      "- The machine was shared. Ratios below 1.5 and above 0.67 say nothing. On a busy machine single ratios vary by a factor of two and more; a slow or busy disk brings those of the rows on disk nearer to 1, because every library then waits for it.",
      "- The libraries do different amounts of work. Belay records facts in memory in `loop`; LangGraph saves a checkpoint for each step; Mastra saves messages in its memory store; OpenAI Agents and ADK append to a session in memory; the AI SDK keeps nothing, and the program holds an array.",
      "- On disk: Belay, LangGraph and the program around the AI SDK write to SQLite through `node:sqlite` in WAL mode; Mastra uses LibSQL. LangGraph writes a checkpoint for each step; the program around the AI SDK rewrites the row of the conversation before and after each input.",
      "- LangGraph is `createReactAgent`. Its `SqliteSaver` gets `node:sqlite` through a small adapter, because `better-sqlite3` would have to be compiled. The version is the newest whose dependencies the registry had.",
      "- ADK has a `DatabaseSessionService`, which needs a native database driver, and OpenAI Agents lets a program write a session of its own. Neither was run on disk.",
      "- After a crash the AI SDK has no run to resume: the program sends the saved messages again. Mastra's agent gets the same input again.",
      "- One approval, two resumes: both start at once from the saved state, as two clicks on a page or two workers would. A program around the AI SDK, OpenAI Agents or ADK holds the state itself and can guard it with a lock of its own.",
      "- A program around any of them can collect the streamed words itself and add them to its history. The table shows the history of the library.",
      "- A stop is an `AbortSignal` for all but Belay. The time ends when the call has returned to the program.",
    ].join("\n"),
  ].join("\n\n")}\n`;
}
