// The demo model's plan for a question. A plan yields text and calls, gets their results,
// and returns its answer. Its words about the folder come from the real tools.

import type { Json } from "@belay/core";
import { type DemoWords, demoWordsFor } from "./demo-words.ts";
import { asPattern, extension, frequent, paragraph, term } from "./phrases.ts";

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

/** The plans by the text that a person types; the first that fits is used. docs/cli.md lists them. */
const rules: readonly (readonly [RegExp, (found: RegExpExecArray, words: DemoWords) => Plan])[] = [
  [/^\s*(?:hi|hello|hey|good (?:morning|evening))\b|^\s*你好/i, (_, words) => saying(`${words.hello} ${words.what}`)],
  [/^\s*\/?help\b|\bwhat can you\b|^\s*帮助/i, (_, words) => saying(words.help)],
  [/^\s*(?:take the |start the )?tour\b|^\s*开始导览|^\s*导览/i, (_, words) => saying(tour(words))],
  [
    /^\s*(?:run|shell|execute|运行)(?:\b|(?=\s))[\s:]*`?([^`]+)`?\s*$/i,
    ([, command], words) => shell(command!.trim(), words),
  ],
  [/^\s*slow\b(?:\s+(\d+))?/i, ([, seconds], words) => shell(counting(Number(seconds ?? 20)), words)],
  [/^\s*(?:three|several|many) (?:requests|approvals|questions)\b/i, (_, words) => several(words)],
  [/^\s*(?:ask me\b|问我)\s*(.*)/i, ([, about], words) => asking(about!, words)],
  [/^\s*(?:fetch|get)\s+(https?:\/\/\S+)/i, ([, url], words) => fetching(url!, words)],
  [/^\s*long\b(?:\s+(\d+))?/i, ([, paragraphs]) => saying(long(Number(paragraphs ?? 40)))],
  [/^\s*markdown\b/i, () => saying(markdown)],
  [/^\s*think\b/i, (_, words) => thinking(words)],
  [/^\s*fail\b/i, () => failing()],
  [
    /\b(?:edit|change)\s+(\S*[./]\S*?):?\s.*?["“'`]([^"”'`]+)["”'`]\s*(?:to|by|with|into)\s*["“'`]([^"”'`]*)["”'`]/i,
    ([, path, old, fresh], words) => editing(path!, old!, fresh!, words),
  ],
  [
    /\b(?:write|save)\b(?:.*\b(?:to|in|into|as)\s+(\S*[./]\S*))?|写(?:到|入|成)\s*(\S*[./]\S*)/i,
    ([, path, other], words) => writing(path ?? other ?? "SUMMARY.md", words),
  ],
  [
    /\bsummar|\boverview\b|\bdescribe\b|\bwhat is (?:this|here|in here)\b|总结|概述|介绍/i,
    (_, words) => summary("whole", words),
  ],
  [/\b(?:short|shorter|brief|briefly)\b|简短|短一点/i, (_, words) => summary("short", words)],
  [
    /(?:\b(?:mentions?|contains?|search(?: for)?|find|grep|look for|where (?:is|are))\s+|查找\s*|搜索\s*)(.+)/i,
    ([, text], words) => mentions(term(text!), words),
  ],
  [
    /(?:\b(?:read|show|open|explain|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?|读取\s*|打开\s*)(\S*[./]\S*)/i,
    ([, path], words) => reading(path!, words),
  ],
  [/\b(?:list|ls|which files|what files)\b|列出/i, (_, words) => listing(words)],
  [/\b(?:focus on|only|about|look at|concentrate on)\s+(.+)/i, ([, text], words) => topic(term(text!), words)],
];

/** `cutAt` is how an answer ended that the person cut off just before. */
export function* planFor(question: string, cutAt: string | undefined): Plan {
  const words = demoWordsFor(question);
  const opening = cutAt === undefined ? "" : words.cut(cutAt);
  const plan = choose(question, words);
  let step = plan.next([]);
  let first = true;
  while (!step.done) {
    const results: readonly Result[] = yield first ? { ...step.value, say: opening + step.value.say } : step.value;
    first = false;
    step = plan.next(results);
  }
  return first ? opening + step.value : step.value;
}

function choose(question: string, words: DemoWords): Plan {
  for (const [pattern, plan] of rules) {
    const found = pattern.exec(question);
    if (found) return plan(found, words);
  }
  const wanted = term(question);
  return wanted === "" ? saying(words.help) : topic(wanted, words);
}

/** Long enough to be stopped: as much as is said in some ten seconds. */
const TOUR_SENTENCES = 40;

function tour(words: DemoWords): string {
  return (
    Array.from({ length: TOUR_SENTENCES }, (_, at) => words.tour(at) + (at % 4 === 3 ? "\n\n" : "")).join("") +
    words.tourEnd
  );
}

const call = (tool: string, args: Call["args"] = {}): Call => ({ tool, args });
const failed = (result: Result | undefined): boolean => result?.outcome !== "ok";
const lines = (result: Result): string[] =>
  result.text.split("\n").filter((line) => line !== "" && !/^\[.*\]$/.test(line));

// biome-ignore lint/correctness/useYield: a plan that needs no tool.
function* saying(text: string): Plan {
  return text;
}

function* shell(command: string, words: DemoWords): Plan {
  const [ran] = yield { say: words.wouldRun, calls: [call("shell", { command })] };
  if (failed(ran)) return words.ranNot(ran?.text ?? "");
  return words.ran(ran!.text.trimEnd());
}

function counting(seconds: number): string {
  return `for i in $(seq 1 ${Math.min(seconds, 3600)}); do echo "$i of ${seconds}"; sleep 1; done`;
}

function* several(words: DemoWords): Plan {
  const results = yield {
    say: words.several,
    calls: [
      call("write", { path: "notes/one.txt", text: "one\n" }),
      call("write", { path: "notes/two.txt", text: "two\n" }),
      call("shell", { command: "echo three" }),
    ],
  };
  return `${words.became}\n${results.map(({ outcome, text }) => `- ${outcome}: ${firstLine(text)}`).join("\n")}`;
}

function* asking(about: string, words: DemoWords): Plan {
  const question = about.trim() === "" ? words.which : words.whatAbout(about.trim());
  const options = [...words.parts];
  const [answer] = yield {
    say: words.onlyYou,
    calls: [call("ask_user", { question, options })],
  };
  return failed(answer) ? words.ratherNot(answer?.text ?? "") : words.soItIs(answer!.text);
}

function* fetching(url: string, words: DemoWords): Plan {
  const [page] = yield { say: words.wouldFetch(url), calls: [call("fetch", { url })] };
  return failed(page) ? words.failed(page?.text ?? "") : words.says(paragraph(page!.text));
}

function* thinking(words: DemoWords): Plan {
  const [listed] = yield { think: words.thought, say: words.thoughtSaid, calls: [call("list", { depth: 1 })] };
  return failed(listed) ? words.listNot("") : words.things(lines(listed!).length);
}

// biome-ignore lint/correctness/useYield: it fails before it says anything.
function* failing(): Plan {
  throw new Error("the demo model was told to fail");
}

function* summary(length: "whole" | "short", words: DemoWords): Plan {
  const [listed] = yield { say: words.lookFirst, calls: [call("list")] };
  if (failed(listed)) return words.listNot(listed?.text ?? "");
  const files = filesOf(listed!);
  if (files.length === 0) return words.empty;
  const wanted = files.filter((path) => /^(?:readme(?:\.\w+)?|package\.json|pyproject\.toml|cargo\.toml)$/i.test(path));
  const read =
    wanted.length === 0
      ? []
      : yield {
          say: words.reads(files.length, wanted),
          calls: wanted.map((path) => call("read", { path })),
        };
  const about = read.flatMap((result, at) => (failed(result) ? [] : [aboutFile(wanted[at]!, result.text, words)]));
  const size = words.size(files.length);
  if (length === "short") return [size, ...about.slice(0, 1)].join(" ");
  const folders = frequent(files.map((path) => path.split("/").slice(0, -1).slice(0, 2).join("/") || words.itself));
  const kinds = frequent(files.map(extension)).slice(0, 5);
  return [
    [size, ...about].join(" "),
    words.byKind(kinds.map(([kind, n]) => `${kind} (${n})`).join(", ")),
    [words.byPlace, ...folders.slice(0, 8).map(([folder, n]) => `- ${folder}: ${words.files(n)}`)].join("\n"),
    words.ends(files[0]!, files.at(-1)!),
  ].join("\n\n");
}

function filesOf(listed: Result): string[] {
  return lines(listed).filter((line) => !line.endsWith("/"));
}

function aboutFile(path: string, text: string, words: DemoWords): string {
  if (!path.endsWith(".json")) return words.fileSays(path, paragraph(text));
  try {
    const { name, description, scripts } = JSON.parse(text) as {
      name?: string;
      description?: string;
      scripts?: object;
    };
    const commands = Object.keys(scripts ?? {});
    const means = description ? ` (“${description}”)` : "";
    return words.fileCalls(path, String(name), means, commands.join(", "));
  } catch {
    return words.notJson(path);
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

function* mentions(text: string, words: DemoWords): Plan {
  if (text === "") return words.whichWord;
  const pattern = asPattern(text);
  const [found] = yield { say: words.searches(text), calls: [call("search", { pattern, ignoreCase: true })] };
  if (failed(found)) return words.searchNot(found?.text ?? "");
  const matches = matchesOf(found);
  if (matches.length === 0) return words.noneMentions(text);
  const files = frequent(matches.map(({ path }) => path));
  const shown = files.slice(0, 12).map(([path, n]) => {
    const first = matches.find((match) => match.path === path)!;
    return words.match(path, n, first.line, first.text);
  });
  const rest = files.length > 12 ? [words.moreFiles(files.length - 12)] : [];
  return [words.mention(matches.length, files.length, text), ...shown, ...rest].join("\n");
}

const topics: Readonly<Record<string, readonly string[]>> = {
  security: ["secret", "token", "password", "sanitize", "escape"],
  tests: ["test(", "describe(", "expect("],
  errors: ["throw ", "catch", "Error("],
  performance: ["cache", "benchmark", "O(n"],
};

function* topic(wanted: string, words: DemoWords): Plan {
  const known = Object.keys(topics).find((name) => wanted.toLowerCase().startsWith(name.slice(0, 5)));
  const sought = known === undefined ? [wanted] : topics[known]!;
  const results = yield {
    say: `${known === undefined ? "" : words.looksAt(known)}${words.searchesFor(sought.map((word) => word.trim()))}`,
    calls: sought.map((word) => call("search", { pattern: asPattern(word), ignoreCase: true })),
  };
  const matches = results.flatMap(matchesOf);
  if (matches.length === 0) return `${words.nothingOf} ${words.what}`;
  const files = frequent(matches.map(({ path }) => path));
  const perWord = sought.map((word, at) => words.found(word.trim(), matchesOf(results[at]).length));
  const [first] = files[0]!;
  return [
    `${words.finds(known ?? wanted)}\n${perWord.join("\n")}`,
    words.mostIn(
      files
        .slice(0, 4)
        .map(([path]) => path)
        .join(", "),
      first,
    ),
    matches
      .filter(({ path }) => path === first)
      .slice(0, 3)
      .map(({ line, text }) => words.line(line, text))
      .join("\n"),
  ].join("\n\n");
}

function* reading(given: string, words: DemoWords): Plan {
  const path = given.replace(/[?!,;:.]+$/, "");
  const [file] = yield { say: words.readsFile(path), calls: [call("read", { path })] };
  if (failed(file)) return words.failed(file?.text ?? "");
  const all = file!.text.split("\n");
  return [words.begins(path), "```", ...all.slice(0, 12), "```", "", words.hasLines(all.length)].join("\n");
}

function* writing(path: string, words: DemoWords): Plan {
  const [listed] = yield { say: words.looksToWrite, calls: [call("list")] };
  if (failed(listed)) return words.listNot(listed?.text ?? "");
  const kinds = frequent(filesOf(listed!).map(extension)).slice(0, 8);
  const text = [words.page, "", ...kinds.map(([kind, n]) => `- ${kind}: ${words.files(n)}`), ""].join("\n");
  const [written] = yield { say: words.wouldWrite, calls: [call("write", { path, text })] };
  return failed(written) ? words.wroteNot(written?.text ?? "") : words.done(written!.text);
}

function* editing(path: string, old: string, fresh: string, words: DemoWords): Plan {
  const [edited] = yield { say: words.wouldChange, calls: [call("edit", { path, old, new: fresh })] };
  return failed(edited) ? words.changedNot(edited?.text ?? "") : words.done(edited!.text);
}

function* listing(words: DemoWords): Plan {
  const [listed] = yield { say: words.looks, calls: [call("list")] };
  if (failed(listed)) return words.listNot(listed?.text ?? "");
  const files = filesOf(listed!);
  const rest = files.length > 30 ? [words.moreFiles(files.length - 30)] : [];
  return [`${words.files(files.length)}:`, ...files.slice(0, 30).map((path) => `- ${path}`), ...rest].join("\n");
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
