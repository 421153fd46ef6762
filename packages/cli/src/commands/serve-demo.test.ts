import { connect } from "@belay/client";
import { expect, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

test("belay serve --demo seeds a tour of real runs without a key, and is ready within three seconds", async () => {
  const home = program.home();
  const began = performance.now();
  const server = home.start(["serve", "--demo", "--port", "0"]);
  const line = await server.said(/http:\/\/127\.0\.0\.1:\d+\//);
  const took = performance.now() - began;
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line)!;
  const belay = connect({ url });
  const { items } = await belay.threads();
  const states = Object.fromEntries(items.map((row) => [row.threadId, row.pauseType ?? row.state]));
  expect(states).toEqual({
    plan: "running",
    "refund-b": "tool_interrupt",
    deploy: "tool_interrupt",
    room: "tool_interrupt",
    "offer-ann": "node_interrupt",
    digest: "error",
    zugspitze: "completed",
    transfer: "user_interrupt",
    import: "crash",
  });
  // The threads of the terminal are in another store: the tour leaves nothing among them.
  expect((await home.belay(["threads", "--json"])).stdout).not.toContain("zugspitze");
  server.child.kill("SIGINT");
  expect((await server.ended).code).toBe(0);
  expect(took).toBeLessThan(3_000 * SLOW);
});

/** The promise is for two quiet cores; other tests run beside this one. */
const SLOW = 4;

test("belay serve --demo is for this machine alone", async () => {
  const refused = await program.home().belay(["serve", "--demo", "--host", "0.0.0.0"]);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("open to other machines");
});
