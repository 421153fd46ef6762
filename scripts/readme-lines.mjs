// The README's own lines in an empty folder: its install lines, with our packages from their tarballs, its programs, the
// terminal app in a real terminal, and the console in a real browser. Part of npm run pack:check.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./ensure.mjs";

/** Returns the commands of the section "Install", without their comments. */
export function installLines(readme) {
  const section = /\n## Install\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  return section
    .split("\n")
    .map((line) => line.replace(/\s+#.*/, "").trim())
    .filter((line) => line !== "");
}

/**
 * Runs each line as a newcomer would, in order. A line without a meaning here is an error.
 * @param {{ folder: string, tarballs: Record<string, string>, check: Function, run: Function, npm: Function }} given
 */
export async function readmeLines({ folder, tarballs, check, run, npm }) {
  const lines = installLines(readFileSync(join(root, "README.md"), "utf8"));
  const ours = (name) => tarballs[name.replace("@belay/", "")] ?? name;
  const exact = (name) => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    return devDependencies[name] ? `${name}@${devDependencies[name]}` : name;
  };
  copyFileSync(join(root, "examples/01-hello/main.ts"), join(folder, "hello.mjs"));
  for (const line of lines) {
    const [command, ...args] = line.split(" ");
    await check(`README: ${line}`, async () => {
      if (command === "npm" && args[0] === "install")
        return void (await npm(["install", ...args.slice(1).map((name) => exact(ours(name)))], folder));
      if (line === "node hello.mjs") return same(await run("node", ["hello.mjs"], folder), "01-hello");
      if (line === "npx belay") return terminal(folder);
      if (line === "npx belay serve") return console_(folder);
      throw new Error("readme-lines.mjs does not know this line");
    });
  }
  await check("README: the program with a real model, its wire answered on this machine", async () => {
    await npm(["install", "--no-save", exact("tsx")], folder);
    for (const name of ["main.ts", "hello.ts"])
      copyFileSync(join(root, "examples/real-model", name), join(folder, name.replace(".ts", ".mts")));
    const main = join(folder, "main.mts");
    writeFileSync(main, readFileSync(main, "utf8").replaceAll("hello.ts", "hello.mts"));
    same(await run("node", ["--import", "tsx", "main.mts"], folder), "real-model");
  });
}

function same(said, example) {
  const expected = readFileSync(join(root, "examples", example, "output.txt"), "utf8").trim();
  if (said.trim() !== expected) throw new Error(`it printed:\n${said}`);
}

/** The environment of a newcomer: no key, and data in the folder. */
const newcomer = (folder) => ({
  PATH: process.env.PATH,
  HOME: folder,
  TERM: "xterm-256color",
  LANG: "en_US.UTF-8",
  BELAY_DATA: join(folder, "data"),
});

/** Starts the tour of the demo, presses ESC in mid-answer and leaves. */
async function terminal(folder) {
  const { tsImport } = await import("tsx/esm/api");
  const kit = pathToFileURL(join(root, "packages/cli/src/testing/terminal.ts")).href;
  const { openTerminal, CTRL_D, ENTER, ESC } = await tsImport(kit, import.meta.url);
  const app = openTerminal("npx", ["belay"], { cwd: folder, env: newcomer(folder) });
  try {
    await app.untilSeen("Take the tour");
    app.press(`tour${ENTER}`);
    await app.untilSeen("esc to stop");
    await app.untilSeen(/\w+ \w+\. \w+/);
    app.press(ESC);
    await app.untilSeen("── stopped");
    app.press(CTRL_D);
    return `ends with ${await app.exited}`;
  } finally {
    app.kill();
  }
}

/** Opens the printed address in a browser and finds the thread of the terminal in the list. */
async function console_(folder) {
  const child = spawn("npx", ["belay", "serve"], { cwd: folder, env: newcomer(folder), detached: true });
  let said = "";
  child.stdout.on("data", (data) => (said += data));
  child.stderr.on("data", (data) => (said += data));
  const exited = once(child, "exit");
  const { tsImport } = await import("tsx/esm/api");
  const kit = pathToFileURL(join(root, "packages/console/src/testing/open-browser.ts")).href;
  const { openBrowser } = await tsImport(kit, import.meta.url);
  const browser = await openBrowser();
  try {
    for (let i = 0; !/http\S+/.test(said); i++) {
      if (i === 600 || child.exitCode !== null) throw new Error(`no address:\n${said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const page = await browser.newPage();
    const address = /http\S+/.exec(said)[0];
    await page.goto(address);
    await page.waitForSelector(".app");
    await page.getByRole("link", { name: "Threads" }).first().click();
    await page.getByRole("link", { name: /tour/i }).first().waitFor();
    return `shows the thread of the terminal at ${new URL(address).host}`;
  } finally {
    await browser.close();
    process.kill(-child.pid, "SIGINT");
    await exited;
  }
}
