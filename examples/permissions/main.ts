// Which calls run, which wait for a person and which never run: rules, remembered approvals, and reasons.
import { agent, approve, createRunner, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const input = jsonSchema<{ [name: string]: unknown }>({ type: "object" });
const make = (name: string) => tool({ name, description: "", input, execute: () => `${name} ran` });
const [readOrder, refund, shell] = [make("read_order"), make("refund"), make("shell")];

const model = scriptedModel(({ messages }) => {
  const [last] = messages.at(-1)!.parts;
  if (last?.type === "result") return String(last.output);
  return [{ call: "shell", args: { command: "git log --oneline" } }];
});

// region rules
const support = agent({
  name: "support",
  model,
  tools: [readOrder!, refund!, shell!],
  permissions: {
    rules: [
      { tool: "read_*", effect: "allow" },
      { tool: "shell", args: { command: "git status*" }, effect: "allow" },
      { tool: "shell", args: { command: "git push*" }, effect: "always-ask" },
      {
        id: "no-vip",
        tool: "refund",
        args: { "order.vip": true },
        effect: "deny",
        reason: "VIP refunds are made by phone",
      },
    ],
    default: "ask",
  },
});

const runner = createRunner({ agent: support, permissions: { rules: [{ tool: "*_production", effect: "deny" }] } });
// endregion
const session = await runner.open("desk");

// region which
console.log(await session.permission("refund", { order: { vip: true } }));
// endregion
await show("git status -s", "git log --oneline", "git push --force");

await session.run("What changed?").result;
const [item] = (await runner.inbox()).items;
console.log(`— a person is asked: ${item!.tool} ${JSON.stringify(item!.args)}`);

// region remember
await runner.answer(item!.id, approve({ remember: { scope: "always", args: { command: "git log*" } }, by: "anna" }));
// endregion
await show("git log --oneline", "git log -p", "git push --force");

// region forget
for (const { id, by, tool, args } of await runner.rules()) {
  console.log(`— ${by} allowed ${tool} ${JSON.stringify(args)}; taken back`);
  await runner.removeRule(id);
}
// endregion
await show("git log --oneline");

async function show(...commands: string[]): Promise<void> {
  for (const command of commands) {
    const { effect, source } = await session.permission("shell", { command });
    console.log(`${effect}: ${command} (${source})`);
  }
}
