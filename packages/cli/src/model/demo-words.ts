// The words of the demo model, in the language of the question. The names of tools and outcomes stay as they are.

import { count } from "./phrases.ts";

const en = {
  cut: (words: string) => `You stopped me at “… ${words}”. So, instead: `,
  hello: "Hello.",
  what:
    "I am no real model: I follow a few rules, but what I say of this folder I have read in it. " +
    "Ask me to summarise the folder, which files mention a word, or to write a summary; type help for more. " +
    "And stop me in the middle: that part is real.",
  help: `I am no real model: rules stand in for one, so that everything can be tried without a key. Type:

- \`Take the tour\`: stop, redirect, approve and go back, in 20 seconds
- \`Summarise this folder\`: lists, then reads in parallel
- \`Which files mention session?\`, \`read README.md\`, \`focus on security\`: search and read
- \`write a summary to SUMMARY.md\`: asks for approval and shows the file
- \`edit README.md: "old" to "new"\`: asks for approval and shows a diff
- \`run ls -la\`: asks for approval and shows the command
- \`slow 20\`: a command that counts for 20 seconds; stop it with ESC
- \`three approvals\`: several requests at once, to be answered in any order
- \`ask me\`: a question to you
- \`fetch https://example.com\`: a page of the web
- \`long 40\`, \`markdown\`, \`think\`, \`fail\`: a long answer, formatted text, reasoning, a failure`,
  tour: (line: number) =>
    [
      "I speak until you stop me: press **Esc** now. ",
      "What I have said so far stays, and I read it again when you continue. ",
      "A belay is the rope that holds a climber: it may be slack for an hour, and must hold at once. ",
      "Nothing is lost by a stop: not these words, not the draft that you are typing, not a request that waits. ",
    ][line % 4]!,
  tourEnd: "You let me finish. Ask for the tour again, and press Esc while I speak.",
  wouldRun: "I would run this.",
  ranNot: (why: string) => `It did not run to its end. ${why}`,
  ran: (output: string) => `That is what it gave:\n\n\`\`\`\n${output}\n\`\`\``,
  several: "I would do three things at once. Answer them in any order.",
  became: "This became of them:",
  which: "Which part of this folder matters most to you?",
  whatAbout: (about: string) => `What about ${about}?`,
  parts: ["the code", "the docs", "the tests"],
  onlyYou: "There is something only you can tell me.",
  ratherNot: (why: string) => `You would rather not say. ${why}`,
  soItIs: (answer: string) => `So it is “${answer}”. Thank you.`,
  wouldFetch: (url: string) => `I would fetch ${url}.`,
  failed: (why: string) => `That did not work. ${why}`,
  says: (text: string) => `It says: “${text}”`,
  thought: "The person wants to see me think. Let me look at the folder first, and then say little about it.",
  thoughtSaid: "I thought about it. Now I look.",
  listNot: (why: string) => `I could not list the folder. ${why}`,
  things: (n: number) => `There are ${count(n, "thing")} here.`,
  lookFirst: "First I look at what is here.",
  empty: "There is nothing here that I could read.",
  reads: (files: number, names: readonly string[]) => `${count(files, "file")}. I read ${names.join(" and ")}.`,
  size: (files: number) => `This folder has ${count(files, "file")}.`,
  itself: "(the folder itself)",
  byKind: (kinds: string) => `By kind: ${kinds}.`,
  byPlace: "By place:",
  files: (n: number) => count(n, "file"),
  ends: (first: string, last: string) =>
    `The first and the last of them by name are ${first} and ${last}. Ask me to read any of them, or which of them mention a word.`,
  fileSays: (path: string, text: string) => `${path} says: “${text}”`,
  fileCalls: (path: string, name: string, means: string, commands: string) =>
    `${path} calls it ${name}${means}${commands === "" ? "" : `; its commands are ${commands}`}.`,
  notJson: (path: string) => `${path} is not JSON that I could read.`,
  whichWord: "Which word shall I look for?",
  searches: (text: string) => `I search for “${text}”.`,
  searchNot: (why: string) => `The search did not end. ${why}`,
  noneMentions: (text: string) => `No file here mentions “${text}”.`,
  match: (path: string, n: number, line: string, text: string) =>
    `- ${path}: ${count(n, "line")}, first in line ${line}: ${text}`,
  moreFiles: (n: number) => `- and ${count(n, "more file")}`,
  mention: (lines: number, files: number, text: string) =>
    `${count(lines, "line")} in ${count(files, "file")} ${lines === 1 ? "mentions" : "mention"} “${text}”:`,
  looksAt: (topic: string) => `I look at ${topic}. `,
  searchesFor: (words: readonly string[]) => `I search for ${words.map((word) => `“${word}”`).join(", ")}.`,
  nothingOf: "Nothing in this folder speaks of that.",
  found: (word: string, n: number) => `- “${word}”: ${n === 0 ? "nowhere" : count(n, "line")}`,
  finds: (topic: string) => `On ${topic}, this is what I find:`,
  mostIn: (paths: string, first: string) => `Most of it stands in ${paths}. I would begin with ${first}:`,
  line: (line: string, text: string) => `- line ${line}: ${text}`,
  readsFile: (path: string) => `I read ${path}.`,
  begins: (path: string) => `${path} begins:`,
  hasLines: (n: number) => `It has ${count(n, "line")}.`,
  looksToWrite: "I look at what there is to write.",
  page: "# What is here",
  wouldWrite: "Now I would write it down.",
  wroteNot: (why: string) => `I have written nothing. ${why}`,
  done: (what: string) => `Done: ${what}`,
  wouldChange: "I would change this.",
  changedNot: (why: string) => `I have changed nothing. ${why}`,
  looks: "I look.",
};

type Same<T> = T extends (...values: infer V) => string ? (...values: V) => string : T extends string ? string : T;
export type DemoWords = { readonly [Name in keyof typeof en]: Same<(typeof en)[Name]> };

const zh: DemoWords = {
  cut: (words) => `你在“… ${words}”处停下了我。那么改为：`,
  hello: "你好。",
  what: "我不是真正的模型，只按几条规则行事；但我说到的这个文件夹的内容都是真的读过的。可以让我总结这个文件夹、查找提到某个词的文件，或写一份总结；输入“帮助”查看更多。随时可以在中途停下我：这一点是真的。",
  help: `我不是真正的模型：由规则代替，不需要密钥就能试用一切。可以输入：

- \`开始导览\`：停止、改口、批准、回退，20 秒
- \`总结这个文件夹\`：先列出，再并行读取
- \`查找 session\`、\`读取 README.md\`：搜索和读取
- \`把总结写到 SUMMARY.md\`：请求批准并显示文件
- \`运行 ls -la\`：请求批准并显示命令
- \`slow 20\`：数 20 秒的命令；按 ESC 停止
- \`three approvals\`：同时有几个请求，可按任意顺序答复
- \`问我\`：向你提问
- \`long 40\`、\`markdown\`、\`think\`、\`fail\`：长回答、格式文本、思考、失败`,
  tour: (line) =>
    [
      "我会一直说，直到你停下我：现在按 **Esc**。",
      "已经说出的内容会保留，继续时我会再读一遍。",
      "保护绳平时是松的，出事的那一刻必须立刻拉住。",
      "停止不会丢失任何东西：这些话、你正在输入的草稿、等待答复的请求都还在。",
    ][line % 4]!,
  tourEnd: "你让我说完了。再开始一次导览，在我说话时按 Esc。",
  wouldRun: "我想运行这个命令。",
  ranNot: (why) => `它没有运行到底。${why}`,
  ran: (output) => `输出如下：\n\n\`\`\`\n${output}\n\`\`\``,
  several: "我想同时做三件事。请按任意顺序答复。",
  became: "结果如下：",
  which: "这个文件夹里哪一部分对你最重要？",
  whatAbout: (about) => `关于${about}，你怎么看？`,
  parts: ["代码", "文档", "测试"],
  onlyYou: "有件事只有你能告诉我。",
  ratherNot: (why) => `你不想说。${why}`,
  soItIs: (answer) => `那就是“${answer}”。谢谢。`,
  wouldFetch: (url) => `我想获取 ${url}。`,
  failed: (why) => `没有成功。${why}`,
  says: (text) => `上面写着：“${text}”`,
  thought: "对方想看我思考。我先看看文件夹，然后简单说说。",
  thoughtSaid: "我想过了，现在看一看。",
  listNot: (why) => `无法列出文件夹。${why}`,
  things: (n) => `这里有 ${n} 项。`,
  lookFirst: "我先看看这里有什么。",
  empty: "这里没有我能读取的内容。",
  reads: (files, names) => `共 ${files} 个文件。我读取 ${names.join(" 和 ")}。`,
  size: (files) => `这个文件夹有 ${files} 个文件。`,
  itself: "（文件夹本身）",
  byKind: (kinds) => `按类型：${kinds}。`,
  byPlace: "按位置：",
  files: (n) => `${n} 个文件`,
  ends: (first, last) =>
    `按名称排列，第一个是 ${first}，最后一个是 ${last}。可以让我读取其中任何一个，或查找提到某个词的文件。`,
  fileSays: (path, text) => `${path} 写着：“${text}”`,
  fileCalls: (path, name, means, commands) =>
    `${path} 称它为 ${name}${means}${commands === "" ? "" : `；命令有 ${commands}`}。`,
  notJson: (path) => `${path} 不是我能读取的 JSON。`,
  whichWord: "要查找哪个词？",
  searches: (text) => `我搜索“${text}”。`,
  searchNot: (why) => `搜索没有完成。${why}`,
  noneMentions: (text) => `这里没有文件提到“${text}”。`,
  match: (path, n, line, text) => `- ${path}：${n} 行，首先在第 ${line} 行：${text}`,
  moreFiles: (n) => `- 还有 ${n} 个文件`,
  mention: (lines, files, text) => `${files} 个文件中有 ${lines} 行提到“${text}”：`,
  looksAt: (topic) => `我看看 ${topic}。`,
  searchesFor: (words) => `我搜索${words.map((word) => `“${word}”`).join("、")}。`,
  nothingOf: "这个文件夹里没有相关内容。",
  found: (word, n) => `- “${word}”：${n === 0 ? "没有" : `${n} 行`}`,
  finds: (topic) => `关于 ${topic}，我找到：`,
  mostIn: (paths, first) => `大部分在 ${paths} 中。我会从 ${first} 开始：`,
  line: (line, text) => `- 第 ${line} 行：${text}`,
  readsFile: (path) => `我读取 ${path}。`,
  begins: (path) => `${path} 的开头：`,
  hasLines: (n) => `共 ${n} 行。`,
  looksToWrite: "我先看看有什么可写的。",
  page: "# 这里有什么",
  wouldWrite: "现在我想把它写下来。",
  wroteNot: (why) => `我什么都没写。${why}`,
  done: (what) => `完成：${what}`,
  wouldChange: "我想修改这里。",
  changedNot: (why) => `我什么都没改。${why}`,
  looks: "我看一看。",
};

export function demoWordsFor(question: string): DemoWords {
  return /\p{Script=Han}/u.test(question) ? zh : en;
}
