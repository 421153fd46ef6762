// The doors of our packages, and the source file behind each: tests, and the programs that tests bundle, need no build.
import { fileURLToPath } from "node:url";

const source = (/** @type {string} */ path) => fileURLToPath(new URL(`../packages/${path}`, import.meta.url));

export const sources = {
  "@belay/core": source("core/src/index.ts"),
  "@belay/core/sqlite": source("core/src/sqlite.ts"),
  "@belay/core/store": source("core/src/store.ts"),
  "@belay/core/postgres": source("core/src/postgres.ts"),
  "@belay/core/redis": source("core/src/redis.ts"),
  "@belay/core/dispatch": source("core/src/dispatch.ts"),
  "@belay/core/testing": source("core/src/testing/index.ts"),
  "@belay/core/inside": source("core/src/inside.ts"),
  "@belay/bullmq": source("bullmq/src/index.ts"),
  "@belay/dbos": source("dbos/src/index.ts"),
  "@belay/restate": source("restate/src/index.ts"),
  "@belay/cli": source("cli/src/index.ts"),
  "@belay/console/demo": source("console/src/demo/index.ts"),
  "@belay/client": source("client/src/index.ts"),
  "@belay/client/react": source("client/src/react.ts"),
  "@belay/server": source("server/src/index.ts"),
  "@belay/testkit": source("testkit/src/index.ts"),
  "@belay/testkit/bad-stores": source("testkit/src/bad-stores/index.ts"),
  "@belay/testkit/engines": source("testkit/src/engines/index.ts"),
  "@belay/testkit/dispatchers": source("testkit/src/dispatchers/index.ts"),
  "@belay/testkit/processes": source("testkit/src/processes/index.ts"),
  "@belay/testkit/wire": source("testkit/src/wire/index.ts"),
  "@belay/testkit/world": source("testkit/src/world/index.ts"),
};
