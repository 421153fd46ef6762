// The page in a real browser: say something, stop it, say more, reload, approve. node examples/server/check.mjs
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { chromium as browsers } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const server = spawn(process.execPath, ["--import", "tsx", join(here, "main.ts"), "--serve"], {
  cwd: join(here, "../.."),
  stdio: ["ignore", "pipe", "inherit"],
});
const url = String(await new Promise((resolve) => server.stdout.once("data", resolve))).trim();
// Not the package's own flags: they turn off the web's security, which the page is to meet.
const args = ["--no-sandbox", "--disable-gpu", "--headless"];
const browser = await browsers.launch({
  args,
  executablePath: process.env.CHROME ?? (await chromium.executablePath()),
});
try {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(url);
  const say = async (text) => {
    await page.fill("#text", text);
    await page.press("#text", "Enter");
  };
  const shows = (text) => page.getByText(text).first().waitFor({ timeout: 15_000 });
  await say("What is a belay?");
  await shows("has a rope,");
  await page.click("#stop");
  await shows("▌stopped");
  await say("Only the device.");
  await shows("The device brakes the rope.");
  await page.reload();
  await shows("The device brakes the rope.");
  await say("Book a hut.");
  await shows("Book Höllentalangerhütte?");
  await page.click("text=Approve");
  await shows("You sleep at the hut.");
  if (problems.length > 0) throw new Error(problems.join("\n"));
  console.log("The page ran, stopped, continued, was loaded again, and approved.");
} finally {
  await browser.close();
  server.kill("SIGTERM");
}
