// A graph drafts an offer and checks it in two ways at once; it stops before it sends. A person lowers the price and goes on.
import { createRunner, END, graph, START } from "@belay/core";

// region graph
const offer = graph<{ price: number }>("offer")
  .node("draft", (customer: string, ctx) => {
    ctx.setState(() => ({ price: 480 }));
    return `An offer for ${customer}`;
  })
  .node("stock", () => "in stock")
  .node("credit", () => "good")
  .node(
    "send",
    (checks: { stock: string; credit: string }, ctx) =>
      `Sent: ${ctx.state.price} €, ${checks.stock}, credit ${checks.credit}`,
  )
  .edge(START, "draft")
  .edge("draft", "stock")
  .edge("draft", "credit")
  .edge("stock", "send")
  .edge("credit", "send")
  .edge("send", END)
  .compile({ state: { price: 0 }, interruptBefore: ["send"] });
// endregion

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
