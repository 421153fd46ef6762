import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { guideNames, guidesDigest, readGuides } from "./guides.ts";
import { instructions } from "./instructions.ts";

let root: string;
let folder: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belay-guides-")));
  folder = join(root, "shop", "web");
  mkdirSync(folder, { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

const names = () => guideNames(readGuides(folder), folder).filter((name) => !name.startsWith("../../../"));

test("AGENTS.md of the folder and of those above it, the nearest one last; CLAUDE.md and GEMINI.md stand in", () => {
  writeFileSync(join(root, "GEMINI.md"), "Speak plainly.");
  writeFileSync(join(root, "shop", "CLAUDE.md"), "Use tabs.");
  writeFileSync(join(folder, "AGENTS.md"), "Write tests first.");
  writeFileSync(join(folder, "CLAUDE.md"), "not this one");
  expect(names()).toEqual(["AGENTS.md", "../CLAUDE.md", "../../GEMINI.md"]);
  const text = instructions(folder, readGuides(folder));
  const at = ["Speak plainly.", "Use tabs.", "Write tests first."].map((words) => text.indexOf(words));
  expect(at).toEqual([...at].sort((a, b) => a - b));
  expect(at.every((each) => each > 0)).toBe(true);
  expect(text).not.toContain("not this one");
  expect(instructions(folder)).not.toContain("<guide");
});

test("a link that leads to some other file, a folder and an empty file are no guides; a link to a guide is one", () => {
  writeFileSync(join(folder, ".env"), "KEY=1");
  symlinkSync(".env", join(folder, "AGENTS.md"));
  expect(names()).toEqual([]);
  mkdirSync(join(root, "shop", "AGENTS.md"));
  writeFileSync(join(root, "AGENTS.md"), "  \n");
  expect(names()).toEqual([]);
  writeFileSync(join(root, "shop", "GEMINI.md"), "x");
  symlinkSync("../GEMINI.md", join(folder, "CLAUDE.md"));
  expect(names()).toEqual(["CLAUDE.md", "../GEMINI.md"]);
});

test("a long guide is cut, and a change is reported", () => {
  writeFileSync(join(folder, "AGENTS.md"), "x".repeat(100_000));
  const before = readGuides(folder);
  expect(before.at(-1)!.text.length).toBeLessThan(33_000);
  expect(before.at(-1)!.text).toContain("left out");
  writeFileSync(join(folder, "AGENTS.md"), "y");
  expect(guidesDigest(readGuides(folder))).not.toBe(guidesDigest(before));
});
