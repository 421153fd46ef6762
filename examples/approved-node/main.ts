// A graph whose critical node a person approves: in another process, with an edited input. A rejection takes another way.
import { approve, createRunner, END, graph, humanApproval, memoryStore, reject, START } from "@belay/core";

interface Order {
  readonly table: string;
  readonly rows: number;
}

// region graph
const cleanUp = () =>
  graph("clean-up")
    .node("count", (table: string): Order => ({ table, rows: 40 }))
    .node("delete_data", ({ table, rows }: Order, ctx) => {
      const { by, note } = ctx.approval!;
      return `${rows} rows of ${table} deleted, approved by ${by}: ${note}`;
    })
    .node("keep", ({ table }: Order, ctx) => `${table} is kept: ${ctx.approval!.note} (${ctx.approval!.by})`)
    .edge(START, "count")
    .edge("count", "delete_data")
    .edge("delete_data", END)
    .edge("keep", END)
    .compile({
      approveBefore: [
        {
          node: "delete_data",
          request: (order) =>
            humanApproval(`Delete ${(order as unknown as Order).rows} rows?`, { approvers: ["ana", "bo"] }),
          onReject: "keep",
        },
      ],
    });
// endregion

// region approve
const store = memoryStore();
const first = createRunner({ agent: cleanUp(), store });
await (await first.open("users")).run("users").result;
const [request] = (await first.inbox()).items;
console.log(`— ${request!.reason}`, request!.node, request!.args);
await first.close();

// Another runner, as in another process.
const second = createRunner({ agent: cleanUp(), store });
await second.answer(request!.id, approve({ by: "ana", note: "only the old ones", args: { table: "users", rows: 12 } }));
const run = await second.resume("users");
const result = await run.result;
if (result.status === "completed") console.log(result.output);
// endregion

// region reject
const orders = await second.open("orders");
await orders.run("orders").result;
const [other] = (await second.inbox()).items;
await second.answer(other!.id, reject("the audit needs them", { by: "bo" }));
const kept = await orders.resume().result;
if (kept.status === "completed") console.log(kept.output);
// endregion
