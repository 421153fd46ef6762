// What do many runs at once cost? 1,000 runs of 5 tool turns on a model that takes 20 ms to answer, all started in one
// tick; the floor does the same with the loop by hand.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { add, nativeLoop, nativeToolModel, runnerOn, sdkLoop, sdkToolModel } from "./fakes.mjs";
import { answer, inTurns, least, median } from "./measure.mjs";

const count = 1000;
const turns = 5;
const latencyMs = 20;

/** The targets are for a native model: the way to an AI SDK model is not ours. */
const kinds = {
  "native model": { model: nativeToolModel(turns, latencyMs), loop: nativeLoop, ratio: 1.6, stallMs: 50 },
  fromAiSdk: { model: sdkToolModel(turns, latencyMs), loop: sdkLoop },
};

/** Runs it, and returns milliseconds: all of it, of the processor, and the longest time the event loop was not free. */
async function observed(work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const used = process.cpuUsage();
  const started = performance.now();
  await work();
  const { user, system } = process.cpuUsage(used);
  const took = performance.now() - started;
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  return { took, cpu: (user + system) / 1000, stall: delay.max / 1e6 };
}

for (const [kind, { model, loop, ratio, stallMs }] of Object.entries(kinds)) {
  const { belay, floor } = await inTurns(
    {
      async belay() {
        const runner = runnerOn(model, { tools: [add] });
        const sessions = await Promise.all(Array.from({ length: count }, () => runner.open()));
        return observed(async () => {
          const results = await Promise.all(sessions.map((session) => session.run("Add.").result));
          if (results.some((result) => result.text !== "Done.")) throw new Error("A run did not complete.");
        });
      },
      async floor() {
        return observed(() => Promise.all(Array.from({ length: count }, () => loop(model, "Add."))));
      },
    },
    { rounds: 15, warmup: 5 },
  );
  const of = (samples, what) => samples.map((sample) => sample[what]);
  const time = { measured: least(of(belay, "took")), floor: least(of(floor, "took")) };
  answer({
    name: `${kind}: ${count} runs of ${turns} tool turns`,
    unit: "ms",
    ...time,
    target: ratio,
    judged: "ratio",
  });
  const cpu = { measured: least(of(belay, "cpu")), floor: least(of(floor, "cpu")) };
  answer({ name: `${kind}: processor time of the same, threads of the collector included`, unit: "ms", ...cpu });
  const stall = { measured: least(of(belay, "stall")), floor: least(of(floor, "stall")) };
  const typical = median(of(belay, "stall")).toFixed(0);
  const name = `${kind}: longest stall of the event loop, least of ${belay.length} rounds (median ${typical} ms)`;
  answer({ name, unit: "ms", ...stall, target: stallMs });
}
