import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What it says is wrong; nothing where all is well. */
async function compile(project: string): Promise<string> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, "-p", project, "--pretty", "false"]);
  return run.then(
    ({ stdout }) => stdout,
    (error) => error.stdout || String(error),
  );
}

test("types: the published declarations serve a program under the strictest settings, with exactOptionalPropertyTypes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-consumer-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const project = (name: string, config: object) => {
    writeFileSync(join(folder, name), JSON.stringify(config));
    return join(folder, name);
  };
  const core = join(root, "packages/core");
  const declarations = project("declarations.json", {
    extends: join(core, "tsconfig.build.json"),
    compilerOptions: { rootDir: join(core, "src"), outDir: join(folder, "dist") },
    include: ["index", "sqlite", "testing/index"].map((name) => join(core, `src/${name}.ts`)),
  });
  expect(await compile(declarations)).toBe("");
  const consumer = project("consumer.json", {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noPropertyAccessFromIndexSignature: true,
      paths: {
        "@belay/core": ["./dist/index.d.ts"],
        "@belay/core/*": ["./dist/*.d.ts", "./dist/*/index.d.ts"],
        "*": ["./node_modules/*"],
      },
      typeRoots: [join(root, "node_modules/@types")],
    },
    files: [join(root, "test/strict-consumer.ts")],
  });
  expect(await compile(consumer)).toBe("");
});
