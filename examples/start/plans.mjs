// What the offline model does about a question. A plan yields `{ say, calls }`, is handed the results of the calls, and
// returns its answer.
import { bytes, count, extension, frequent, paragraph } from "./phrases.mjs";

const topics = {
  security: ["secret", "token", "password", "sanitize", "escape"],
  tests: ["test(", "describe(", "expect("],
  errors: ["throw ", "catch", "Error("],
  performance: ["cache", "benchmark", "O(n"],
};

const rules = [
  [/^\s*(?:hi|hello|hey|good (?:morning|evening))\b/i, () => greeting()],
  [/\bhelp\b|\bwhat can you\b/i, () => help()],
  [/\b(?:write|save)\b(?:.*\b(?:to|in|into|as)\s+(\S*[./]\S*))?/i, (found) => writing(found[1] ?? "SUMMARY.md")],
  [/\bsummar|\boverview\b|\bdescribe\b|\bwhat is (?:this|here|in here)\b/i, () => summary()],
  [/\b(?:short|shorter|brief|briefly)\b/i, () => summary("short")],
  [
    /\b(?:mentions?|contains?|search(?: for)?|find|grep|look for|where (?:is|are))\s+(.+)/i,
    (found) => mentions(term(found[1])),
  ],
  [/\b(?:read|show|open|explain|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(\S*[./]\S*)/i, (found) => reading(found[1])],
  [/\b(?:list|ls|which files|what files)\b/i, () => listing()],
  [/\b(?:focus on|only|about|look at|concentrate on)\s+(.+)/i, (found) => topic(term(found[1]))],
];

/** @param {string} question @param {string | undefined} cutAt how an answer ended that the person cut off just before */
export function* planFor(question, cutAt) {
  const opening = cutAt === undefined ? "" : `You stopped me at “… ${cutAt}”. So, instead: `;
  const plan = choose(question);
  let step = plan.next();
  let first = true;
  while (!step.done) {
    const { say, calls } = step.value;
    const results = yield { say: first ? opening + say : say, calls };
    first = false;
    step = plan.next(results);
  }
  return first ? opening + step.value : step.value;
}

function choose(question) {
  for (const [pattern, plan] of rules) {
    const found = pattern.exec(question);
    if (found) return plan(found);
  }
  const wanted = term(question);
  return wanted === "" ? help() : topic(wanted);
}

const call = (tool, args = {}) => ({ call: tool, args });
const failed = (result) => result.outcome !== "ok";

// biome-ignore lint/correctness/useYield: a plan that needs no tool.
function* greeting() {
  return `Hello. ${what}`;
}

// biome-ignore lint/correctness/useYield: a plan that needs no tool.
function* help() {
  return what;
}

const what =
  "I am no real model: I follow a few rules, but what I say of this folder I have read in it. " +
  "Ask me to summarise the folder, which files mention a word, to read a file, such as README.md, or to write a summary. " +
  "And stop me in the middle: that part is real.";

function* summary(length) {
  const [listed] = yield { say: "First I look at what is here.", calls: [call("list_files")] };
  if (failed(listed)) return `I could not list the folder. ${listed.output}`;
  const { files, more } = listed.output;
  if (files.length === 0) return "There is nothing here that I could read: no file that is not hidden.";
  const wanted = files.filter((path) => /^(?:readme(?:\.\w+)?|package\.json|pyproject\.toml|cargo\.toml)$/i.test(path));
  const read =
    wanted.length === 0
      ? []
      : yield {
          say: `${count(files.length, "file")}. I read ${wanted.join(" and ")}.`,
          calls: wanted.map((path) => call("read_file", { path })),
        };
  const about = read.filter((result) => !failed(result)).map(({ output }) => aboutFile(output));
  const folders = frequent(
    files.map((path) => path.split("/").slice(0, -1).slice(0, 2).join("/") || "(the folder itself)"),
  );
  const kinds = frequent(files.map(extension));
  const size = `This folder has ${more ? "more than " : ""}${count(files.length, "file")}.`;
  if (length === "short") return [size, ...about.slice(0, 1)].join(" ");
  return [
    [size, ...about].join(" "),
    `By kind: ${kinds
      .slice(0, 5)
      .map(([kind, n]) => `${kind} (${n})`)
      .join(", ")}.`,
    ["By place:", ...folders.slice(0, 8).map(([folder, n]) => `- ${folder}: ${count(n, "file")}`)].join("\n"),
    `The first and the last of them by name are ${files[0]} and ${files.at(-1)}. Ask me to read any of them, or which of them mention a word.`,
  ].join("\n\n");
}

function aboutFile({ path, text }) {
  if (!path.endsWith(".json")) return `${path} says: “${paragraph(text)}”`;
  try {
    const { name, description, scripts } = JSON.parse(text);
    const commands = Object.keys(scripts ?? {});
    const means = description ? ` (“${description}”)` : "";
    return `${path} calls it ${name}${means}${commands.length ? `; its commands are ${commands.join(", ")}` : ""}.`;
  } catch {
    return `${path} is not JSON that I could read.`;
  }
}

function* mentions(text) {
  if (text === "") return "Which word shall I look for?";
  const [found] = yield { say: `I search for “${text}”.`, calls: [call("search_text", { text })] };
  if (failed(found)) return `The search did not end. ${found.output}`;
  const { matches, more } = found.output;
  if (matches.length === 0) return `No file here mentions “${text}”.`;
  const files = frequent(matches.map((match) => match.path));
  const lines = files.slice(0, 12).map(([path, n]) => {
    const first = matches.find((match) => match.path === path);
    return `- ${path}: ${count(n, "line")}, first in line ${first.line}: ${first.text}`;
  });
  const rest = files.length > 12 ? [`- and ${count(files.length - 12, "more file", "more files")}`] : [];
  const all = `${more ? "At least " : ""}${count(matches.length, "line")} in ${count(files.length, "file")}`;
  return [`${all} ${matches.length === 1 ? "mentions" : "mention"} “${text}”:`, ...lines, ...rest].join("\n");
}

function* topic(wanted) {
  const known = Object.keys(topics).find((name) => wanted.toLowerCase().startsWith(name.slice(0, 5)));
  const words = known === undefined ? [wanted] : topics[known];
  const results = yield {
    say: `${known === undefined ? "" : `I look at ${known}. `}I search for ${words.map((word) => `“${word.trim()}”`).join(", ")}.`,
    calls: words.map((text) => call("search_text", { text })),
  };
  const matches = results.flatMap((result) => (failed(result) ? [] : result.output.matches));
  if (matches.length === 0) return `Nothing in this folder speaks of that. ${what}`;
  const files = frequent(matches.map((match) => match.path));
  const perWord = words.map((word, i) => {
    const n = failed(results[i]) ? 0 : results[i].output.matches.length;
    return `- “${word.trim()}”: ${n === 0 ? "nowhere" : count(n, "line")}`;
  });
  const [first] = files;
  const lines = matches.filter((match) => match.path === first[0]).slice(0, 3);
  return [
    `On ${known ?? wanted}, this is what I find:\n${perWord.join("\n")}`,
    `Most of it stands in ${files
      .slice(0, 4)
      .map(([path]) => path)
      .join(", ")}. I would begin with ${first[0]}:`,
    lines.map(({ line, text }) => `- line ${line}: ${text}`).join("\n"),
  ].join("\n\n");
}

function* reading(path) {
  const [file] = yield { say: `I read ${path}.`, calls: [call("read_file", { path: path.replace(/[?!,;:]+$/, "") })] };
  if (failed(file)) return `That did not work: ${file.output}`;
  const { text, bytes: size, more } = file.output;
  const lines = text.split("\n");
  const begins = lines.slice(0, 12).map((line) => `  ${line}`);
  const tail = more ? "It is longer than what I read of it." : `It has ${count(lines.length, "line")}.`;
  return [`${file.output.path} (${bytes(size)}) begins:`, ...begins, "", tail].join("\n");
}

function* writing(path) {
  const [listed] = yield { say: "I look at what there is to write.", calls: [call("list_files")] };
  if (failed(listed)) return `I could not list the folder. ${listed.output}`;
  const kinds = frequent(listed.output.files.map(extension)).slice(0, 8);
  const text = ["# What is here", "", ...kinds.map(([kind, n]) => `- ${kind}: ${count(n, "file")}`), ""].join("\n");
  const [written] = yield { say: "Now I would write it down.", calls: [call("write_file", { path, text })] };
  if (failed(written)) return `I have written nothing. ${written.output}`;
  // Where the person changed what was asked for, the result says so.
  const { note, output = written.output } = written.output;
  return `${note === undefined ? "" : "As you wanted it: "}${output.path} is there now, ${bytes(output.bytes)}.`;
}

function* listing() {
  const [listed] = yield { say: "I look.", calls: [call("list_files")] };
  if (failed(listed)) return `I could not list the folder. ${listed.output}`;
  const { files, more } = listed.output;
  const shown = files.slice(0, 30).map((path) => `- ${path}`);
  const rest = files.length > 30 ? [`- and ${count(files.length - 30, "more file", "more files")}`] : [];
  return [`${more ? "More than " : ""}${count(files.length, "file")}:`, ...shown, ...rest].join("\n");
}

const small = new Set(
  "a an and are at be but by can could do does for from how i in instead is it its me my not of on only or please shall should so tell that the there these this those to us was we what when where which who why with would you your".split(
    " ",
  ),
);

/** What a question is about: what it quotes, else its longest word that means something. */
function term(text) {
  const quoted = /["“'`]([^"”'`]+)["”'`]/.exec(text);
  if (quoted) return quoted[1].slice(0, 100);
  const words = text.match(/[\p{L}\p{N}_$@./-]+/gu) ?? [];
  const meaning = words
    .map((word) => word.replace(/^[./-]+|[./-]+$/g, ""))
    .filter((word) => word !== "" && !small.has(word.toLowerCase()));
  return (meaning.sort((a, b) => b.length - a.length)[0] ?? "").slice(0, 100);
}
