// A graph as a Mermaid diagram, with the position of a run.
import { createRunner } from "@belay/core";
import { offer } from "../09-graph/offer.ts";

const session = await createRunner({ agent: offer }).open();
await session.run("Ann").result;

// region picture
const checkpoint = await session.checkpoint();
process.stdout.write(offer.toMermaid({ at: checkpoint! }));
// endregion
