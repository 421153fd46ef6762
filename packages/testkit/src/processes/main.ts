// The programs that tests start as processes of their own, by name.

import { leaveWaiting, liveAsking } from "./asking.ts";
import { busy } from "./busy.ts";
import { answerLife, live, liveToTheEnd } from "./life.ts";
import { holdLock } from "./lock.ts";
import { serveEngine } from "./serve-engine.ts";
import { serveLoop } from "./serve-loop.ts";
import { service } from "./service.ts";
import { answerAll, ask, begin, race, run } from "./share.ts";
import { speak } from "./speak.ts";
import { talkingWorker } from "./talking-worker.ts";
import { liveTree } from "./tree.ts";
import { watch } from "./watch.ts";
import { worker } from "./worker.ts";

const programs: Record<string, (options: never) => Promise<void>> = {
  live,
  liveToTheEnd,
  answerLife,
  liveAsking,
  leaveWaiting,
  liveTree,
  holdLock,
  run,
  race,
  begin,
  ask,
  answerAll,
  watch,
  worker,
  service,
  serveLoop,
  serveEngine,
  speak,
  busy,
  talkingWorker,
};

const [, , name = "", options = "{}"] = process.argv;
await programs[name]!(JSON.parse(options) as never);
