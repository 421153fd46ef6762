// Shared by the graph examples: a graph that drafts an offer, checks it in two ways at once, and stops before it sends.
import { END, graph, START } from "@belay/core";

// region graph
export const offer = graph<{ price: number }>("offer")
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
