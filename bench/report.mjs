// The table, for the terminal and for RESULTS.md.

const columns = ["question", "case", "measured", "floor", "ratio", "over the floor", "target", "verdict"];

export function table(answers) {
  const rows = answers.map(cells);
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(" | ")} |`;
  const rule = `|${widths.map((width, i) => (i < 2 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(columns), rule, ...rows.map(line)].join("\n");
}

function cells({ question, name, unit, measured, floor, target, judged, typical }) {
  const over = floor === undefined ? undefined : measured - floor;
  const ratio = floor === undefined ? undefined : measured / floor;
  const value = { measured, over, ratio }[judged];
  const overText = over === undefined ? "" : number(over) + (typical === undefined ? "" : ` (${number(typical)})`);
  return [
    question,
    name,
    `${number(measured)} ${unit}`,
    floor === undefined ? "" : `${number(floor)} ${unit}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    overText === "" ? "" : `${overText} ${unit}`,
    target === undefined ? "" : judged === "ratio" ? `≤ ${target}` : `≤ ${target} ${unit}`,
    target === undefined ? "" : value <= target ? "ok" : "over",
  ];
}

function number(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export function resultsText(answers, machine) {
  const notes = [...new Set(answers.map((answer) => answer.note).filter((note) => note !== undefined))];
  return `# Results

Written by \`npm run bench\`; \`npm run bench -- loop\` asks one question.

${table(answers)}

Node ${machine.node}, ${machine.cpu}, ${machine.memory}, ${machine.system}; load when it began: ${machine.loadBefore}.

## How to read it

- Belay and the floor run in the same process, in turns, with the same fake model, after a warm-up. The floor is what one
  would write by hand: it asks the model, calls the tool and keeps the messages in an array, and does nothing else.
- Costs are the least of many rounds: what else runs on the machine can only add to them. In parentheses, the same
  difference of the two medians. "Over" in the last column means over the target.
- Each question runs in a process of its own, on the built package.
- On a disk, Belay and the inserts take turns run by run; what is compared is the sum of each. The inserts are synced as
  ours; their file is once as SQLite keeps it by itself, and once with a log that is as short as ours, which is the stricter one.
- \`stop\`, \`open\`, \`paused\` and \`remote-stop\` have no floor: a loop by hand keeps no record of a stop, opens no thread
  again, leaves none at rest, and hears of no other process. Their targets are times that a person does not notice.
${notes.map((note) => `- ${note}\n`).join("")}
## What is not measured

- Stores behind a network: servers run on the same machine, and share its cores. \`durable\`, \`reopen\`, \`paused\` and
  \`remote-stop\` are on a SQLite file, the rest on the memory store or on what their name says. What a write to the disk costs is the disk's; those questions put it beside the same number of plain inserts.
- A disk that is full, slow or shared, and files that are not in the system's memory when they are read.
- Many processes on one file, except for one stop.
- Real providers, except for one stop: no network, no TLS, no parsing of what a provider sends. An AI SDK provider puts
  TransformStreams around its answer; what those cost is not in these numbers.
- Several tools in one turn, large arguments and results, and schemas other than a small JSON Schema.
- More than one reader of a run.
- Memory while runs are in progress.
`;
}
