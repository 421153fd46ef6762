import { build, ensureInstalled } from "./ensure.mjs";

await ensureInstalled();
await build();
