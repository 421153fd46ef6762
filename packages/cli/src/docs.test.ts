// docs/cli.md shows the real output of the program.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { EXIT } from "./headless/exit-codes.ts";
import { testProgram } from "./testing/processes.ts";
import { en } from "./texts/en.ts";
import { zh } from "./texts/zh.ts";

const program = testProgram();
const page = (name: string) => readFileSync(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), "utf8");
const shown = [...page("cli.md").matchAll(/<!-- run: belay (.*?) -->\n```text\n([\s\S]*?)```/g)].map(
  ([, args, output]) => [args!, output!] as const,
);

describe("docs/cli.md", () => {
  test("shows runs of the program", () => {
    expect(shown.length).toBeGreaterThan(2);
  });

  test.each(shown)("belay %s prints the output that the page shows", async (args, output) => {
    const home = program.home();
    const words = [...args.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
    const { stdout } = await home.belay(words);
    expect(stdout.replaceAll(home.config, "~/.config/belay")).toBe(output);
  });

  test("names every exit code, and every variable that is read", () => {
    for (const code of Object.values(EXIT)) expect(page("cli.md")).toContain(`| ${code} |`);
    for (const name of [
      "BELAY_DATA",
      "BELAY_CONFIG",
      "BELAY_MODEL",
      "BELAY_BASE_URL",
      "BELAY_API_KEY",
      "BELAY_FETCH_ALLOW",
      "BELAY_DEMO_DELAY_MS",
      "BELAY_CONTEXT_TOKENS",
      "ANTHROPIC_BASE_URL",
      "OPENAI_BASE_URL",
    ]) {
      expect(page("cli.md"), name).toContain(`\`${name}\``);
    }
  });
});

test("every problem has a next action", () => {
  for (const { problems } of [en, zh])
    for (const [code, { hint }] of Object.entries(problems)) expect(hint, code).toMatch(/[.。]$/);
});
