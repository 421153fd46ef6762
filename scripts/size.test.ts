import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { measure, report } from "./size.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "belay-size-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sizeOf = (source: string, name = "a.ts") => measure(name, source);
const run = (...args: string[]) =>
  spawnSync(process.execPath, ["scripts/size.mjs", ...args], { cwd: root, encoding: "utf8" });

describe("the size of a source", () => {
  test("comments and blank lines are no lines of code, and what looks like one in a string is", () => {
    const source = [
      "#!/usr/bin/env node",
      "// one",
      "",
      "/* two",
      "   three */",
      'const url = "http://x"; // four',
      "const text = `",
      `// in a template $${"{/* out */ 1}"}`,
      "",
      "`;",
      "const regex = /[/*\"'`]/; /* five */ /* six */",
      "   ",
    ];
    expect(sizeOf(source.join("\n")).lines).toBe(6);
  });

  test("characters of several bytes before a comment do not shift it", () => {
    expect(sizeOf('const x = "👩‍👧é"; // one\n// 👩‍👧\nconst y = 1;').lines).toBe(2);
  });

  test.each([
    ["if (a) b(); else if (c) d(); else e();", 2],
    ["switch (a) { case 1: case 2: b(); break; default: c(); }", 2],
    ["const x = a ? b : c ? d : e;", 2],
    ["const x = (a && b) || (c ?? d);", 3],
    ["a &&= b; a ||= c; a ??= d; a += e;", 3],
    ["try { a(); } catch { b(); } finally { c(); }", 1],
    ["for (;;) {} for (const a of b) {} for (const a in b) {} while (a) {} do {} while (b);", 5],
    ["const it = { if: 1, case: 2, catch() {} }; it.if; promise.catch(() => {});", 0],
    ["type A<T> = T extends string ? 1 : 2; interface B { c?: number; d?(): void } function f(x?: A<string>) {}", 0],
    ["const s = 'if (a && b) ? c : d'; const t = `for while`; const r = /a?b||c&&/; a?.b;", 0],
    [`const t = \`if $${"{a ?? b}"} while\`;`, 1],
  ])("the branches of %s are %i", (source, branches) => {
    expect(sizeOf(source).branches).toBe(branches);
  });

  test("branches are found in the code inside of JSX, and not in its text", () => {
    const source = 'const x = <p title="if">don\'t ask if && for {a ? <b /> : <i>{c && d}</i>}</p>;';
    expect(sizeOf(source, "a.tsx").branches).toBe(2);
  });

  test("the fields of each class are counted: private and static ones, and parameters that are fields; methods and getters are none", () => {
    const source = `
      class A<T extends { x: 1 }> extends B<{ y: 2 }> implements C {
        one = { a: 1, b() {} };
        #two?: string;
        static three = () => { class Inner { x = 1 } };
        declare readonly four: { c: number };
        ["five"] = 5;
        static { this.three = 1; }
        get six() { return 6; }
        seven(): { d: number } { const e = 1; return { d: e }; }
        constructor(private readonly eight: string, nine: number) { super(); }
      }
      const F = class { a = 1; };`;
    expect(sizeOf(source).classes).toEqual([
      { name: "A", line: 2, fields: 6 },
      { name: "Inner", line: 5, fields: 1 },
      { name: "(no name)", line: 13, fields: 1 },
    ]);
  });

  test("a source that cannot be parsed is refused by its name", () => {
    expect(() => sizeOf("const = 1;", "broken.ts")).toThrow("broken.ts cannot be parsed");
  });
});

describe("the report", () => {
  const before = new Map([
    ["a.ts", sizeOf("class A { x = 1; y = 2; }\nif (a) b();\n")],
    ["gone.ts", sizeOf("const x = 1;")],
    ["same.ts", sizeOf("const x = 1;")],
  ]);
  const now = new Map([
    ["a.ts", sizeOf("class A { x = 1; }\n")],
    ["same.ts", sizeOf("const x = 1;")],
    ["new.ts", sizeOf("const x = a ?? b;\nconst y = 1;\nconst z = 1;\nclass B {}")],
  ]);

  test("has each file, the longest first, then the sum, then the classes with the most fields", () => {
    expect(report(now, undefined)).toEqual([
      "lines  branches  per 100  fields  file",
      "    4         1     25.0       0  new.ts",
      "    1         0      0.0       1  a.ts",
      "    1         0      0.0       0  same.ts",
      "    6         1     16.7       1  in 3 files",
      "",
      "Classes with the most fields (2 of 2):",
      "1  A  a.ts:1",
      "0  B  new.ts:4",
    ]);
  });

  test("against an older one, has the files that differ and what has changed", () => {
    expect(report(now, before)).toEqual([
      "lines  branches  per 100  fields  Δ lines  Δ branches  Δ per 100  Δ fields  file that differs",
      "    4         1     25.0       0       +4          +1      +25.0         0  new.ts (new)",
      "    1         0      0.0       1       -1          -1      -50.0        -1  a.ts",
      "    0         0      0.0       0       -1           0        0.0         0  gone.ts (gone)",
      "    4         1     25.0       2                                            before, in 3 files",
      "    6         1     16.7       1       +2           0       -8.3        -1  now, in 3 files",
      "",
      "Classes with the most fields (2 of 2):",
      "1   -1  A  a.ts:1",
      "0  new  B  new.ts:4",
    ]);
  });
});

describe("the command", () => {
  test("takes several folders and files, and leaves tests out", () => {
    for (const name of ["a.ts", "a.test.ts", "b.sweep.test.ts", "types.d.ts"])
      writeFileSync(join(folder, name), "const x = 1;\n");
    const { stdout, status } = run(folder, "scripts/size.mjs");
    const files = stdout.match(/\S+\.(?:ts|mjs)$/gm)?.map((path) => path.split("/").at(-1));
    expect([status, files]).toEqual([0, ["size.mjs", "a.ts"]]);
  });

  test("compares with a commit, though the files are gone since", () => {
    const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
    const { stdout, status } = run("scripts/ensure.mjs", "scripts/never-there.mjs", "--against", commit);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/before, in 1 files\n.*now, in 1 files/)]);
  });

  test.each([
    [["no-such-folder"], "There is no no-such-folder."],
    [["scripts", "--agianst", "HEAD"], "There is no option --agianst."],
    [["scripts", "--against"], "--against needs a commit."],
    [[], "Nothing was given to measure."],
    [["scripts", "--against", "no-such-commit"], "git cannot read the commit no-such-commit: fatal:"],
    [["test/house.test.ts"], "No sources in test/house.test.ts. Tests are not counted."],
  ])("%j is refused with a reason", (args, reason) => {
    const { status, stderr } = run(...args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });
});
