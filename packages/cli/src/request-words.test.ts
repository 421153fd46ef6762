import { expect, test } from "vitest";
import { requestWords } from "./request-words.ts";
import { en } from "./texts/en.ts";
import { zh } from "./texts/zh.ts";

test("requests of our tools are in each language; all others stay as they are", () => {
  const ours = [
    ["write", "Create a?b.txt?", "新建 a?b.txt？"],
    ["write", "Replace a.txt?", "替换 a.txt？"],
    ["edit", "Edit a.txt?", "修改 a.txt？"],
    ["edit", "a.txt has changed since you saw it. Change it like this?", "你看过之后 a.txt 又变了。这样修改吗？"],
    ["read", "Read .env? (such files often hold keys)", "读取 .env？（such files often hold keys）"],
    ["read", "Read a.md? It leads to .env.", "读取 a.md？它指向 .env。"],
    ["fetch", "Fetch https://a.test/?q?", "获取 https://a.test/?q？"],
    ["shell", "Run this command?", "运行此命令？"],
  ] as const;
  for (const [tool, reason, chinese] of ours) {
    expect(requestWords({ kind: "approval", tool, reason }, en)).toBe(reason);
    expect(requestWords({ kind: "approval", tool, reason }, zh)).toBe(chinese);
    expect(requestWords({ kind: "input", tool, reason }, zh)).toBe(reason);
    expect(requestWords({ kind: "approval", tool: "shop__write", reason }, zh)).toBe(reason);
  }
  expect(requestWords({ kind: "approval", tool: "constructor", reason: "Sell it?" }, zh)).toBe("Sell it?");
  expect(requestWords({ kind: "approval", tool: "write", reason: "Sell it?" }, zh)).toBe("Sell it?");
  expect(requestWords({ kind: "approval", tool: "sell" }, zh)).toBe("运行 sell？");
  expect(requestWords({ kind: "unknown", tool: "shell", reason: "x" }, zh)).toBe("shell 因崩溃中断。结果如何？");
  // A journal of the release before has the other word.
  expect(requestWords({ kind: "approval", tool: "write", reason: "Make a.txt?" }, en)).toBe("Create a.txt?");
});
