// A graph drafts an offer and checks it in two ways at once. It stops before it sends; a person lowers the price and resumes.
import { createRunner } from "@belay/core";
import { offer } from "./offer.ts";

// region run
const session = await createRunner({ agent: offer }).open();
const first = await session.run("Ann").result;
console.log(first.status, session.pauseType);
console.log(session.interrupts[0]?.message);

const checkpoint = await session.checkpoint();
console.log(checkpoint?.state, checkpoint?.inputs);

const second = await session.resume({ state: { price: 450 } }).result;
if (second.status === "completed") console.log(second.output);
// endregion
