import { expect, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

test("a folder that the system refuses to make is reported, and not tried again without end", async () => {
  const home = program.home();
  for (const args of [["threads"], ["-p", "help"]]) {
    const { code, stdout, stderr } = await home.belay([...args, "--data", "/proc/belay/data"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^The data folder \/proc\/belay\/data cannot be used: E\w+: .*\. Make room in it/);
  }
  const rules = await home.belay(["rules", "init", "--config", "/proc/belay"]);
  expect([rules.code, rules.stdout]).toEqual([1, ""]);
});
