// What the demo model does about a question. A plan yields what it says and the calls it makes, is handed their results,
// and returns its answer. What it says of the folder it has read in it, with the real tools.

import type { Json } from "@belay/core";
import { asPattern, count, extension, frequent, paragraph, term } from "./phrases.ts";

export interface Call {
  readonly tool: string;
  readonly args: { readonly [name: string]: Json };
}

export interface Result {
  readonly outcome: string;
  readonly text: string;
}

export interface Saying {
  readonly think?: string;
  readonly say: string;
  readonly calls: readonly Call[];
}

export type Plan = Generator<Saying, string, readonly Result[]>;

/** By what a person types; the first that fits. docs/cli.md lists them. */
const rules: readonly (readonly [RegExp, (found: RegExpExecArray) => Plan])[] = [
  [/^\s*(?:hi|hello|hey|good (?:morning|evening))\b/i, () => saying(`Hello. ${what}`)],
  [/^\s*\/?help\b|\bwhat can you\b/i, () => saying(help)],
  [/^\s*(?:run|shell|execute)\b[\s:]*`?([^`]+)`?\s*$/i, ([, command]) => shell(command!.trim())],
  [/^\s*slow\b(?:\s+(\d+))?/i, ([, seconds]) => shell(counting(Number(seconds ?? 20)))],
  [/^\s*(?:three|several|many) (?:requests|approvals|questions)\b/i, () => several()],
  [/^\s*ask me\b\s*(.*)/i, ([, about]) => asking(about!)],
  [/^\s*(?:fetch|get)\s+(https?:\/\/\S+)/i, ([, url]) => fetching(url!)],
  [/^\s*long\b(?:\s+(\d+))?/i, ([, paragraphs]) => saying(long(Number(paragraphs ?? 40)))],
  [/^\s*markdown\b/i, () => saying(markdown)],
  [/^\s*think\b/i, () => thinking()],
  [/^\s*fail\b/i, () => failing()],
  [
    /\b(?:edit|change)\s+(\S*[./]\S*?):?\s.*?["“'`]([^"”'`]+)["”'`]\s*(?:to|by|with|into)\s*["“'`]([^"”'`]*)["”'`]/i,
    ([, path, old, fresh]) => editing(path!, old!, fresh!),
  ],
  [/\b(?:write|save)\b(?:.*\b(?:to|in|into|as)\s+(\S*[./]\S*))?/i, ([, path]) => writing(path ?? "SUMMARY.md")],
  [/\bsummar|\boverview\b|\bdescribe\b|\bwhat is (?:this|here|in here)\b/i, () => summary("whole")],
  [/\b(?:short|shorter|brief|briefly)\b/i, () => summary("short")],
  [
    /\b(?:mentions?|contains?|search(?: for)?|find|grep|look for|where (?:is|are))\s+(.+)/i,
    ([, text]) => mentions(term(text!)),
  ],
  [/\b(?:read|show|open|explain|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(\S*[./]\S*)/i, ([, path]) => reading(path!)],
  [/\b(?:list|ls|which files|what files)\b/i, () => listing()],
  [/\b(?:focus on|only|about|look at|concentrate on)\s+(.+)/i, ([, text]) => topic(term(text!))],
];

/** `cutAt` is how an answer ended that the person cut off just before. */
export function* planFor(question: string, cutAt: string | undefined): Plan {
  const opening = cutAt === undefined ? "" : `You stopped me at “… ${cutAt}”. So, instead: `;
  const plan = choose(question);
  let step = plan.next([]);
  let first = true;
  while (!step.done) {
    const results: readonly Result[] = yield first ? { ...step.value, say: opening + step.value.say } : step.value;
    first = false;
    step = plan.next(results);
  }
  return first ? opening + step.value : step.value;
}

function choose(question: string): Plan {
  for (const [pattern, plan] of rules) {
    const found = pattern.exec(question);
    if (found) return plan(found);
  }
  const wanted = term(question);
  return wanted === "" ? saying(help) : topic(wanted);
}

const what =
  "I am no real model: I follow a few rules, but what I say of this folder I have read in it. " +
  "Ask me to summarise the folder, which files mention a word, or to write a summary; type help for more. " +
  "And stop me in the middle: that part is real.";

const help = `I am no real model: rules stand in for one, so that everything can be tried without a key. Type:

- \`Summarise this folder\`: lists, then reads in parallel
- \`Which files mention session?\`, \`read README.md\`, \`focus on security\`: search and read
- \`write a summary to SUMMARY.md\`: asks for approval and shows the file
- \`edit README.md: "old" to "new"\`: asks for approval and shows a diff
- \`run ls -la\`: asks for approval and shows the command
- \`slow 20\`: a command that counts for 20 seconds; stop it with ESC
- \`three approvals\`: several requests at once, to be answered in any order
- \`ask me\`: a question to you
- \`fetch https://example.com\`: a page of the web
- \`long 40\`, \`markdown\`, \`think\`, \`fail\`: a long answer, formatted text, reasoning, a failure`;

const call = (tool: string, args: Call["args"] = {}): Call => ({ tool, args });
const failed = (result: Result | undefined): boolean => result?.outcome !== "ok";
const lines = (result: Result): string[] =>
  result.text.split("\n").filter((line) => line !== "" && !/^\[.*\]$/.test(line));

// biome-ignore lint/correctness/useYield: a plan that needs no tool.
function* saying(text: string): Plan {
  return text;
}

function* shell(command: string): Plan {
  const [ran] = yield { say: "I would run this.", calls: [call("shell", { command })] };
  if (failed(ran)) return `It did not run to its end. ${ran?.text ?? ""}`;
  return `That is what it gave:\n\n\`\`\`\n${ran!.text.trimEnd()}\n\`\`\``;
}

function counting(seconds: number): string {
  return `for i in $(seq 1 ${Math.min(seconds, 3600)}); do echo "$i of ${seconds}"; sleep 1; done`;
}

function* several(): Plan {
  const results = yield {
    say: "I would do three things at once. Answer them in any order.",
    calls: [
      call("write", { path: "notes/one.txt", text: "one\n" }),
      call("write", { path: "notes/two.txt", text: "two\n" }),
      call("shell", { command: "echo three" }),
    ],
  };
  return `This became of them:\n${results.map(({ outcome, text }) => `- ${outcome}: ${firstLine(text)}`).join("\n")}`;
}

function* asking(about: string): Plan {
  const question =
    about.trim() === "" ? "Which part of this folder matters most to you?" : `What about ${about.trim()}?`;
  const options = ["the code", "the docs", "the tests"];
  const [answer] = yield {
    say: "There is something only you can tell me.",
    calls: [call("ask_user", { question, options })],
  };
  return failed(answer) ? `You would rather not say. ${answer?.text ?? ""}` : `So it is “${answer!.text}”. Thank you.`;
}

function* fetching(url: string): Plan {
  const [page] = yield { say: `I would fetch ${url}.`, calls: [call("fetch", { url })] };
  return failed(page) ? `That did not work. ${page?.text ?? ""}` : `It says: “${paragraph(page!.text)}”`;
}

function* thinking(): Plan {
  const think = "The person wants to see me think. Let me look at the folder first, and then say little about it.";
  const [listed] = yield { think, say: "I thought about it. Now I look.", calls: [call("list", { depth: 1 })] };
  return failed(listed) ? "I could not list the folder." : `There are ${count(lines(listed!).length, "thing")} here.`;
}

// biome-ignore lint/correctness/useYield: it fails before it says anything.
function* failing(): Plan {
  throw new Error("the demo model was told to fail");
}

function* summary(length: "whole" | "short"): Plan {
  const [listed] = yield { say: "First I look at what is here.", calls: [call("list")] };
  if (failed(listed)) return `I could not list the folder. ${listed?.text ?? ""}`;
  const files = filesOf(listed!);
  if (files.length === 0) return "There is nothing here that I could read.";
  const wanted = files.filter((path) => /^(?:readme(?:\.\w+)?|package\.json|pyproject\.toml|cargo\.toml)$/i.test(path));
  const read =
    wanted.length === 0
      ? []
      : yield {
          say: `${count(files.length, "file")}. I read ${wanted.join(" and ")}.`,
          calls: wanted.map((path) => call("read", { path })),
        };
  const about = read.flatMap((result, at) => (failed(result) ? [] : [aboutFile(wanted[at]!, result.text)]));
  const size = `This folder has ${count(files.length, "file")}.`;
  if (length === "short") return [size, ...about.slice(0, 1)].join(" ");
  const folders = frequent(
    files.map((path) => path.split("/").slice(0, -1).slice(0, 2).join("/") || "(the folder itself)"),
  );
  const kinds = frequent(files.map(extension)).slice(0, 5);
  return [
    [size, ...about].join(" "),
    `By kind: ${kinds.map(([kind, n]) => `${kind} (${n})`).join(", ")}.`,
    ["By place:", ...folders.slice(0, 8).map(([folder, n]) => `- ${folder}: ${count(n, "file")}`)].join("\n"),
    `The first and the last of them by name are ${files[0]} and ${files.at(-1)}. Ask me to read any of them, or which of them mention a word.`,
  ].join("\n\n");
}

function filesOf(listed: Result): string[] {
  return lines(listed).filter((line) => !line.endsWith("/"));
}

function aboutFile(path: string, text: string): string {
  if (!path.endsWith(".json")) return `${path} says: “${paragraph(text)}”`;
  try {
    const { name, description, scripts } = JSON.parse(text) as {
      name?: string;
      description?: string;
      scripts?: object;
    };
    const commands = Object.keys(scripts ?? {});
    const means = description ? ` (“${description}”)` : "";
    return `${path} calls it ${name}${means}${commands.length ? `; its commands are ${commands.join(", ")}` : ""}.`;
  } catch {
    return `${path} is not JSON that I could read.`;
  }
}

interface Match {
  readonly path: string;
  readonly line: string;
  readonly text: string;
}

function matchesOf(found: Result | undefined): Match[] {
  if (found === undefined || failed(found)) return [];
  return lines(found).flatMap((line) => {
    const parts = /^(.*?):(\d+): (.*)$/.exec(line);
    return parts ? [{ path: parts[1]!, line: parts[2]!, text: parts[3]! }] : [];
  });
}

function* mentions(text: string): Plan {
  if (text === "") return "Which word shall I look for?";
  const pattern = asPattern(text);
  const [found] = yield { say: `I search for “${text}”.`, calls: [call("search", { pattern, ignoreCase: true })] };
  if (failed(found)) return `The search did not end. ${found?.text ?? ""}`;
  const matches = matchesOf(found);
  if (matches.length === 0) return `No file here mentions “${text}”.`;
  const files = frequent(matches.map(({ path }) => path));
  const shown = files.slice(0, 12).map(([path, n]) => {
    const first = matches.find((match) => match.path === path)!;
    return `- ${path}: ${count(n, "line")}, first in line ${first.line}: ${first.text}`;
  });
  const rest = files.length > 12 ? [`- and ${count(files.length - 12, "more file")}`] : [];
  const all = `${count(matches.length, "line")} in ${count(files.length, "file")}`;
  return [`${all} ${matches.length === 1 ? "mentions" : "mention"} “${text}”:`, ...shown, ...rest].join("\n");
}

const topics: Readonly<Record<string, readonly string[]>> = {
  security: ["secret", "token", "password", "sanitize", "escape"],
  tests: ["test(", "describe(", "expect("],
  errors: ["throw ", "catch", "Error("],
  performance: ["cache", "benchmark", "O(n"],
};

function* topic(wanted: string): Plan {
  const known = Object.keys(topics).find((name) => wanted.toLowerCase().startsWith(name.slice(0, 5)));
  const words = known === undefined ? [wanted] : topics[known]!;
  const results = yield {
    say: `${known === undefined ? "" : `I look at ${known}. `}I search for ${words.map((word) => `“${word.trim()}”`).join(", ")}.`,
    calls: words.map((word) => call("search", { pattern: asPattern(word), ignoreCase: true })),
  };
  const matches = results.flatMap(matchesOf);
  if (matches.length === 0) return `Nothing in this folder speaks of that. ${what}`;
  const files = frequent(matches.map(({ path }) => path));
  const perWord = words.map((word, at) => {
    const n = matchesOf(results[at]).length;
    return `- “${word.trim()}”: ${n === 0 ? "nowhere" : count(n, "line")}`;
  });
  const [first] = files[0]!;
  return [
    `On ${known ?? wanted}, this is what I find:\n${perWord.join("\n")}`,
    `Most of it stands in ${files
      .slice(0, 4)
      .map(([path]) => path)
      .join(", ")}. I would begin with ${first}:`,
    matches
      .filter(({ path }) => path === first)
      .slice(0, 3)
      .map(({ line, text }) => `- line ${line}: ${text}`)
      .join("\n"),
  ].join("\n\n");
}

function* reading(given: string): Plan {
  const path = given.replace(/[?!,;:.]+$/, "");
  const [file] = yield { say: `I read ${path}.`, calls: [call("read", { path })] };
  if (failed(file)) return `That did not work: ${file?.text ?? ""}`;
  const all = file!.text.split("\n");
  return [`${path} begins:`, "```", ...all.slice(0, 12), "```", "", `It has ${count(all.length, "line")}.`].join("\n");
}

function* writing(path: string): Plan {
  const [listed] = yield { say: "I look at what there is to write.", calls: [call("list")] };
  if (failed(listed)) return `I could not list the folder. ${listed?.text ?? ""}`;
  const kinds = frequent(filesOf(listed!).map(extension)).slice(0, 8);
  const text = ["# What is here", "", ...kinds.map(([kind, n]) => `- ${kind}: ${count(n, "file")}`), ""].join("\n");
  const [written] = yield { say: "Now I would write it down.", calls: [call("write", { path, text })] };
  return failed(written) ? `I have written nothing. ${written?.text ?? ""}` : `Done: ${written!.text}`;
}

function* editing(path: string, old: string, fresh: string): Plan {
  const [edited] = yield { say: "I would change this.", calls: [call("edit", { path, old, new: fresh })] };
  return failed(edited) ? `I have changed nothing. ${edited?.text ?? ""}` : `Done: ${edited!.text}`;
}

function* listing(): Plan {
  const [listed] = yield { say: "I look.", calls: [call("list")] };
  if (failed(listed)) return `I could not list the folder. ${listed?.text ?? ""}`;
  const files = filesOf(listed!);
  const rest = files.length > 30 ? [`- and ${count(files.length - 30, "more file")}`] : [];
  return [`${count(files.length, "file")}:`, ...files.slice(0, 30).map((path) => `- ${path}`), ...rest].join("\n");
}

function long(paragraphs: number): string {
  const parts = Array.from({ length: Math.max(1, Math.min(paragraphs, 20_000)) }, (_, at) => {
    const head = at % 5 === 0 ? `## Part ${at / 5 + 1}\n\n` : "";
    return `${head}This is paragraph ${at + 1} of ${paragraphs}. It says nothing, at some length, so that there is something to stop: press ESC and it stands still; press Enter and it goes on from exactly there.`;
  });
  return parts.join("\n\n");
}

const markdown = `# A heading

Some **bold**, some *italic*, some \`code\`, and [a link](https://example.com).

1. first
2. second
   - inside

> Someone said this.

\`\`\`ts
const session = await runner.open();
const run = session.run("hello"); // stop it with session.interrupt()
\`\`\`

| name | lines |
|---|---:|
| one | 1 |
| two | 22 |

---

宽字符、emoji 🎉 and combining é are as wide as they are.`;

function firstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}
