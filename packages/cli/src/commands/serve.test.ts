import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { connect } from "@belay/client";
import { wireServer } from "@belay/testkit/wire";
import { expect, onTestFinished, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

async function served(home: ReturnType<typeof program.home>, args: readonly string[] = []) {
  const started = home.start(["serve", "--port", "0", ...args]);
  const line = await started.said(/http:\/\/127\.0\.0\.1:\d+\/#t=[\w-]+/);
  const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#t=([\w-]+)/.exec(line)!;
  return { ...started, url: url!, token: token! };
}

test("belay serve runs a thread over HTTP, and the terminal's commands see it", async () => {
  const home = program.home();
  const server = await served(home);
  expect(statSync(join(home.data, "server-token")).mode & 0o777).toBe(0o600);
  const belay = connect({ url: server.url, token: server.token });
  const run = await belay.run("Say hello.", { threadId: "from-a-page" });
  expect(await run.result).toMatchObject({ status: "completed" });
  const { stdout } = await home.belay(["threads", "--json"]);
  expect(stdout).toContain("from-a-page");
  expect(stdout).toContain(home.folder);
  await belay.open("from-a-page").enqueue("Say it again.");
  await expect
    .poll(async () => (await run.thread.messages()).items.filter(({ role }) => role === "user").length)
    .toBe(2);
  await expect.poll(async () => (await run.thread.look()).state).toBe("completed");
  await expect(connect({ url: server.url, token: "not it" }).threads()).rejects.toMatchObject({ status: 401 });
  server.child.kill("SIGTERM");
  expect((await server.ended).code).toBe(143);
  // The token stays: pages that are open find the next server.
  const next = await served(home);
  expect(next.token).toBe(server.token);
  expect(await connect({ url: next.url, token: next.token }).open("from-a-page").look()).toMatchObject({
    state: "completed",
  });
});

test("a run of another process streams to a page, which stops it", async () => {
  const home = program.home();
  const wire = await wireServer();
  onTestFinished(() => wire.close());
  wire.script(["The first half ", { stall: true }, "never said"]);
  const server = await served(home);
  const belay = connect({ url: server.url, token: server.token });
  const model = ["--base-url", wire.url, "--model", "test", "--no-mcp"];
  const terminal = home.start(["-p", "Begin.", ...model], { env: { BELAY_MODEL: undefined } });
  terminal.child.stdin!.end();
  const running = async () => (await belay.threads({ state: "running" })).items;
  await expect.poll(running).toHaveLength(1);
  const thread = belay.open((await running())[0]!.threadId);
  let said = "";
  for await (const event of thread.events()) {
    if (event.type === "text-delta") said += event.text;
    if (said.includes("half")) break;
  }
  expect(await thread.interrupt()).toMatchObject({ accepted: true, partialText: said });
  expect((await terminal.ended).stdout).toContain("The first half");
  expect(await thread.look()).toMatchObject({ state: "paused", pauseType: "user_interrupt" });
});

test("a thread of another folder runs in that folder", async () => {
  const home = program.home();
  const other = join(home.folder, "other");
  mkdirSync(other);
  writeFileSync(join(other, "where.txt"), "in the other folder");
  await home.belay(["-p", "Say hello."], { cwd: other });
  const server = await served(home);
  const belay = connect({ url: server.url, token: server.token });
  const { items } = await belay.threads();
  const thread = belay.open(items[0]!.threadId);
  await (await thread.run("read where.txt")).result;
  expect(JSON.stringify((await thread.messages()).items)).toContain("in the other folder");
});

test("belay serve is not opened to other machines without a token", async () => {
  const home = program.home();
  const refused = await home.belay(["serve", "--host", "0.0.0.0"]);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("open to other machines");
  expect((await home.belay(["serve", "--token", "short"])).code).toBe(2);
  const first = await served(home);
  const taken = await home.belay(["serve", "--port", new URL(first.url).port]);
  expect(taken.code).toBe(2);
  expect(taken.stderr).toContain("--port");
});

test("a server killed in mid-answer leaves a crash, and the worker of the next one ends the run", async () => {
  const home = program.home();
  const first = await served(home);
  const run = await connect({ url: first.url, token: first.token })
    .open("long")
    .run("Say hello, and tell me what you can do.");
  for await (const event of run) if (event.type === "text-delta") break;
  first.child.kill("SIGKILL");
  await first.ended;
  const next = await served(home);
  const again = connect({ url: next.url, token: next.token }).open("long");
  await expect.poll(async () => (await again.look()).state, { timeout: 60_000 }).toBe("completed");
  const { items } = await again.facts({ limit: 1000 });
  expect(items.filter(({ type }) => type === "run-start")).toHaveLength(1);
  expect(items.filter(({ type }) => type === "run-end")).toMatchObject([{ runId: run.runId, status: "completed" }]);
});

test("belay serve --work 0 leaves what is sent, and what a killed front left behind, to belay work, another process", async () => {
  const home = program.home();
  const front = await served(home, ["--work", "0"]);
  const belay = connect({ url: front.url, token: front.token });
  await (await belay.run("Say hello.", { threadId: "queued" })).result;
  await belay.open("queued").enqueue("Say it again.");
  const run = await belay.open("cut").run("Say hello, and tell me what you can do.");
  for await (const event of run) if (event.type === "text-delta") break;
  front.child.kill("SIGKILL");
  await front.ended;
  const next = await served(home, ["--work", "0"]);
  const again = connect({ url: next.url, token: next.token });
  expect(await again.open("queued").look()).toMatchObject({ state: "completed", waiting: [{ kind: "input" }] });
  expect(await again.open("cut").look()).toMatchObject({ state: "paused", pauseType: "crash" });
  expect(await again.open("sent").send("Say hello.")).toMatchObject({ how: "enqueue" });
  expect(await again.open("sent").look()).toMatchObject({ state: "initialized", waiting: [{ kind: "input" }] });
  const worker = home.start(["work", "--concurrency", "2"]);
  // The front sees what the worker does.
  await expect.poll(async () => (await again.open("cut").look()).state).toBe("completed");
  await expect.poll(async () => (await again.open("queued").look()).waiting).toEqual([]);
  await expect.poll(async () => (await again.open("queued").look()).state).toBe("completed");
  await expect.poll(async () => (await again.open("sent").look()).state).toBe("completed");
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(143);
});

test("the worker moves a thread of another folder in that folder, and leaves a thread alone if its folder is gone", async () => {
  const home = program.home();
  const [other, gone] = ["other", "gone"].map((name) => join(home.folder, name)) as [string, string];
  for (const folder of [other, gone]) {
    mkdirSync(folder);
    writeFileSync(join(folder, "where.txt"), `in ${folder}`);
  }
  await home.belay(["-p", "Say hello."], { cwd: other });
  await home.belay(["-p", "Say hello."], { cwd: gone });
  const server = await served(home);
  const belay = connect({ url: server.url, token: server.token });
  const { stdout } = await home.belay(["threads", "--json"]);
  const rows = stdout.trim().split("\n");
  const idIn = (folder: string): string => rows.map((line) => JSON.parse(line)).find((row) => row.folder === folder).id;
  rmSync(gone, { recursive: true });
  // Nothing runs on request here: the worker alone takes these inputs.
  await belay.open(idIn(other)).enqueue("read where.txt");
  await expect
    .poll(async () => JSON.stringify((await belay.open(idIn(other)).messages()).items), { timeout: 30_000 })
    .toContain(`in ${other}`);
  const refused = await belay
    .open(idIn(gone))
    .run("read where.txt")
    .catch((error) => error);
  expect(refused).toMatchObject({ status: 409, code: "INVALID_STATE" });
  expect(refused.message).toContain(gone);
  expect(await belay.open(idIn(gone)).look()).toMatchObject({ state: "completed" });
  await belay.open(idIn(gone)).delete();
});

// Elsewhere the browser is opened by a program that is not found through PATH alone.
test.runIf(process.platform === "linux")("--open shows the printed address in the person's browser", async () => {
  const home = program.home();
  const opened = join(home.folder, "opened");
  const bin = join(home.folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}`, DISPLAY: ":99" };
  const server = home.start(["serve", "--port", "0", "--open"], { env });
  const [url] = /http:\S+/.exec(await server.said(/http:\/\/127\.0\.0\.1:\d+\/#t=[\w-]+/))!;
  await expect.poll(() => existsSync(opened)).toBe(true);
  expect(readFileSync(opened, "utf8")).toBe(url);
});
