// The cost of a turn with one tool call above a hand-written loop. One run of 10, 50, 200 and 500 such turns,
// from run() to its result, on the memory store, without a reader of the events.

import { add, nativeLoop, nativeToolModel, runnerOn, sdkLoop, sdkToolModel } from "./fakes.mjs";
import { answerCost, inTurns, timed } from "./measure.mjs";

const lengths = [10, 50, 200, 500];
const kinds = {
  "native model (async generator)": { make: nativeToolModel, loop: nativeLoop, target: 12 },
  "fromAiSdk (v3, one plain ReadableStream a call)": { make: sdkToolModel, loop: sdkLoop, target: 35 },
};

for (const [kind, { make, loop, target }] of Object.entries(kinds)) {
  for (const turns of lengths) {
    const model = make(turns);
    const repeat = Math.max(1, Math.round(200 / turns));
    const { belay, floor } = await inTurns(
      {
        async belay() {
          const runner = runnerOn(model, { tools: [add] });
          const sessions = await Promise.all(Array.from({ length: repeat }, () => runner.open()));
          return timed(async () => {
            for (const session of sessions) {
              const result = await session.run("Add.").result;
              if (result.text !== "Done.") throw new Error(`The run ended ${result.status}.`, { cause: result.error });
            }
          });
        },
        async floor() {
          return timed(async () => {
            for (let i = 0; i < repeat; i++)
              if ((await loop(model, "Add.")) !== "Done.") throw new Error("Wrong text.");
          });
        },
      },
      { rounds: 60, warmup: 30 },
    );
    answerCost({ name: `${kind}, ${turns} turns`, per: turns * repeat, measured: belay, floor, target });
  }
}
