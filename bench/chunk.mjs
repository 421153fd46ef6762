// The cost of a piece of streamed text above reading it. One answer of 10,000 pieces, without a reader of the run's
// events and with one.

import { nativeTextModel, runnerOn, sdkTextModel } from "./fakes.mjs";
import { answerCost, inTurns, timed } from "./measure.mjs";

const count = 10_000;
const length = count * "word ".length;

async function readNative(model) {
  let text = "";
  for await (const event of model.stream({ messages: [], tools: [] }, {}))
    if (event.type === "text") text += event.text;
  return text;
}

async function readSdk(model) {
  let text = "";
  const reader = (await model.doStream({ prompt: [] })).stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    if (value.type === "text-delta") text += value.delta;
  }
}

async function readRun(run) {
  let characters = 0;
  for await (const event of run) if (event.type === "text-delta") characters += event.text.length;
  return characters;
}

function check(characters) {
  if (characters !== length) throw new Error(`${characters} characters came, not ${length}.`);
}

const kinds = {
  "native model (async generator)": { model: nativeTextModel(count), read: readNative, target: 1 },
  "fromAiSdk (v3, one pulled ReadableStream)": { model: sdkTextModel(count), read: readSdk, target: 2 },
};

for (const [kind, { model, read, target }] of Object.entries(kinds)) {
  const { silent, watched, floor } = await inTurns(
    {
      async silent() {
        const session = await runnerOn(model).open();
        return timed(async () => check((await session.run("Speak.").result).text.length));
      },
      async watched() {
        const session = await runnerOn(model).open();
        return timed(async () => {
          const run = session.run("Speak.");
          check(await readRun(run));
          check((await run.result).text.length);
        });
      },
      floor: () => timed(async () => check((await read(model)).length)),
    },
    { rounds: 40, warmup: 10 },
  );
  answerCost({ name: `${kind}, no reader`, per: count, measured: silent, floor, target });
  answerCost({ name: `${kind}, one reader`, per: count, measured: watched, floor, target });
}
