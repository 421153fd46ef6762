// npm run bench [-- question …]: asks each question in a process of its own, so that neither heaps nor compiled code
// mix, prints one table and, when all were asked, writes RESULTS.md.
//
// npm run bench -- against --base DIR [--rows TEXT]: compares this build with the one in DIR, a checkout of another commit. It is
// asked by name only.

import { fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { resultsText, table } from "./report.mjs";

const questions = [
  "loop",
  "chunk",
  "stop",
  "import",
  "heap",
  "runs",
  "open",
  "durable",
  "reopen",
  "paused",
  "lists",
  "relay",
  "remote-stop",
  "workers",
  "postgres",
  "redis",
  "approval",
  "nested",
  "terminal",
  "server",
  "console",
];

const options = { base: { type: "string" }, rows: { type: "string" } };
const { values, positionals: asked } = parseArgs({ options, allowPositionals: true });
const known = [...questions, "against"];
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(", ")}. The questions are: ${known.join(", ")}.`);
  process.exit(1);
}
if (asked.includes("against") && values.base === undefined) {
  console.error("Name a checkout of the other commit, built by npm run build: --base DIR.");
  process.exit(1);
}
const given = Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);

const machine = {
  cpu: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "?"}`,
  memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
  system: `${platform()} ${release()}`,
  node: process.version,
  loadBefore: loadavg()[0].toFixed(1),
};

const answers = [];
for (const question of asked.length > 0 ? asked : questions) answers.push(...(await ask(question)));
console.log(`\n${table(answers)}`);
if (asked.length === 0) {
  writeFileSync(new URL("RESULTS.md", import.meta.url), resultsText(answers, machine));
  console.log("Written to bench/RESULTS.md.");
}

function ask(question) {
  return new Promise((resolve, reject) => {
    const found = [];
    const started = Date.now();
    const child = fork(new URL(`${question}.mjs`, import.meta.url), given, { execArgv: ["--expose-gc"] });
    child.on("message", (message) => {
      if (message.kind === "answer") found.push({ question, ...message });
      show(`${question}: ${found.length} answered, ${message.text ?? ""}`);
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      show("");
      if (code !== 0) return reject(new Error(`The question ${question} failed.`));
      console.log(`${question} ${((Date.now() - started) / 1000).toFixed(1)} s`);
      resolve(found);
    });
  });
}

function show(text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${text}`);
}
