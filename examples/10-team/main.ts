// A supervisor, a planner and workers. A call three agents below needs approval: the request surfaces at the root, and the
// answer continues the call in its place.
import { approve, createRunner, memoryStore } from "@belay/core";
import { supervisor } from "./team.ts";

const store = memoryStore();

// region asks
const first = await createRunner({ agent: supervisor, store }).open("meeting");
await first.run("Prepare the meeting.").result;

const [request] = first.interrupts;
console.log(`— ${first.pauseType}: ${request!.reason}`);
console.log(request!.address);
await first.close();
// endregion

// region goes-on
// Another runner, as in another process: nothing was kept in memory.
const second = await createRunner({ agent: supervisor, store }).open("meeting");
console.log("— approved; only what is missing runs");
const result = await second.resume({ answers: { [request!.id]: approve({ by: "anna" }) } }).result;
if (result.status === "completed") console.log(result.text);
// endregion
