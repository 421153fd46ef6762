// The agents of the tour. Each shows one thing that only a runtime with a journal can: a stop in mid-sentence, a quorum, an
// edited call, a graph at rest, a crash, a late result.

import { agent, END, graph, humanApproval, humanInput, jsonSchema, START, tool } from "@belay/core";
import { type Plan, plannedModel } from "./model.ts";

export interface DemoOptions {
  /** How long the model takes over a word; read anew for each. */
  delayMs: number;
  /** Ends this process in the middle of the import, as a crash would. */
  readonly crashes?: boolean;
}

const TWO_HOURS = 2 * 60 * 60 * 1000;

const text = (...names: string[]) =>
  jsonSchema<Record<string, string>>({
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: names,
    additionalProperties: false,
  });

const LONG = `The Zugspitze has four ways up on foot, and each asks for something else.

**Reintal** is the long one: 21 km from Garmisch through the Partnach gorge, never steep, with two huts on the way. Most people sleep at the Reintalangerhütte and go up the next morning.

**Höllental** is the one that people dream of: a gorge, a glacier and a via ferrata with iron pegs in a smooth wall. It needs a helmet, a set, crampons until late summer, and eight to nine hours of good weather.

**Gatterl** comes from the Austrian side, over meadows and a gate that gave it its name. It is the driest and the least crowded of the four.

**Wiener-Neustädter** is short and steep, with an old ferrata and loose stone. It is no way for a large group.

For two days I would take Höllental up and Reintal down. Day one: bus to Hammersbach, the gorge in the cool of the morning, and a night at the Höllentalangerhütte at 1,387 m. Day two: start at five, glacier before the sun softens it, summit before noon, and down by Reintal with a late lunch at the Knorrhütte.

Check three things the evening before: the ice at the edge of the glacier, which decides about crampons; the thunderstorm forecast, because the ferrata is a lightning rod; and the last train, because the way down is longer than it looks.`;

function guidePlan(question: string, turn: number): ReturnType<Plan> {
  if (/book/i.test(question)) {
    if (turn > 0) return { say: "The hut is booked for two, and I wrote to them that you come late." };
    return {
      say: "I book the hut and tell them that you come late.",
      calls: [
        { tool: "book", args: { hut: "Höllentalangerhütte", beds: "2" } },
        { tool: "mail", args: { to: "hut@hoellental.example", subject: "Late arrival, 20:30" } },
      ],
    };
  }
  if (/hut|where/i.test(question))
    return { say: "The Höllentalangerhütte: 1,387 m, open until mid-October, two beds left on Friday." };
  return { think: "Four ways, two days, two people. Compare before I recommend.", say: LONG };
}

function supportPlan(question: string, turn: number, results: readonly string[]): ReturnType<Plan> {
  if (/transfer|pay/i.test(question)) {
    if (turn === 0) {
      return {
        say: "I send 90 € to the customer of order B, then I write the mail.",
        calls: [
          { tool: "transfer", args: { order: "B", euros: 90 } },
          { tool: "mail", args: { to: "b@kletterhaus.example", subject: "Your refund" } },
        ],
      };
    }
    return { say: "The transfer is through: 90 € for order B." };
  }
  if (turn === 0) {
    return {
      say: "Order B came back inside the 30 days, so I pay back its full price.",
      calls: [{ tool: "refund", args: { order: "B", euros: 900, reason: "returned within 30 days" } }],
    };
  }
  return {
    say:
      results.at(-1) === "ok"
        ? "Paid. The customer sees it in two days."
        : "Then I leave the refund and tell the customer why.",
  };
}

function opsPlan(_question: string, turn: number, results: readonly string[]): ReturnType<Plan> {
  if (turn === 0) {
    return {
      say: "Canary clean for 31 min, 0 errors in 48,210 requests. I deploy 1.4 to eu-1 and double the replicas.",
      calls: [{ tool: "deploy", args: { version: "1.4", region: "eu-1", replicas: 4 } }],
    };
  }
  return { say: results.at(-1) === "ok" ? "1.4 is live in eu-1 with 4 replicas." : "I did not deploy." };
}

function officePlan(_question: string, turn: number): ReturnType<Plan> {
  if (turn === 0)
    return {
      say: "Two rooms are free on Thursday.",
      calls: [{ tool: "choose_room", args: { day: "Thursday", people: "6" } }],
    };
  return { say: "Booked. I sent the invitation." };
}

function etlPlan(_question: string, turn: number): ReturnType<Plan> {
  if (turn === 0)
    return {
      say: "customers.csv has 3 rows without a street. I import the others.",
      calls: [{ tool: "import_rows", args: { file: "customers.csv" } }],
    };
  return { say: "Imported: 38 of 41 rows." };
}

const BEFORE = `service: checkout
image: checkout:1.3.2
replicas: 2
strategy: rolling
`;

const AFTER = `service: checkout
image: checkout:1.4.0
replicas: 4
strategy: rolling
`;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export function demoAgents(options: DemoOptions) {
  const { crashes = false } = options;
  const model = (plan: Plan) => plannedModel("demo-5", plan, () => options.delayMs);
  const mail = tool({
    name: "mail",
    description: "Writes a mail.",
    input: text("to", "subject"),
    execute: ({ to }) => ({ sent: true, to }),
  });
  const guide = agent({
    name: "guide",
    model: model(guidePlan),
    instructions: "Plan days in the mountains. Say what can go wrong.",
    tools: [
      tool({
        name: "book",
        description: "Books beds in a hut.",
        input: text("hut", "beds"),
        execute: () => ({ reference: "HTH-2291" }),
      }),
      mail,
      tool({
        name: "search",
        description: "Searches maps and timetables.",
        input: text("for"),
        readOnly: true,
        execute: () => [],
      }),
    ],
  });
  const support = agent({
    name: "support",
    model: model(supportPlan),
    instructions: "Answer customers. Pay back what the policy allows.",
    permissions: {
      rules: [
        { id: "ask-over-50", tool: "refund", effect: "ask", reason: "refunds are looked at by a person" },
        { tool: "transfer", effect: "allow" },
        { tool: "mail", effect: "allow" },
      ],
    },
    tools: [
      tool({
        name: "refund",
        description: "Pays an order back.",
        input: jsonSchema<{ order: string; euros: number; reason: string }>({
          type: "object",
          properties: {
            order: { type: "string" },
            euros: { type: "number", minimum: 0, maximum: 1000 },
            reason: { type: "string" },
          },
          required: ["order", "euros"],
          additionalProperties: false,
        }),
        execute: async ({ order, euros }) => {
          await pause(300);
          return { order, paid: euros, reference: "SEPA-88121" };
        },
      }),
      tool({
        name: "transfer",
        description: "Sends money. The bank does not listen to a stop.",
        input: jsonSchema<{ order: string; euros: number }>({
          type: "object",
          properties: { order: { type: "string" }, euros: { type: "number" } },
          required: ["order", "euros"],
        }),
        serial: true,
        graceMs: 200,
        execute: async ({ euros }) => {
          await pause(1_600);
          return { paid: euros, reference: "SEPA-88122" };
        },
      }),
      mail,
    ],
  });
  const ops = agent({
    name: "ops",
    model: model(opsPlan),
    instructions: "Ship releases. Never without two people.",
    tools: [
      tool({
        name: "deploy",
        description: "Deploys a version to a region.",
        version: "3",
        destructive: true,
        input: jsonSchema<{ version: string; region: string; replicas: number }>({
          type: "object",
          properties: {
            version: { type: "string" },
            region: { type: "string" },
            replicas: { type: "integer", minimum: 1, maximum: 12 },
          },
          required: ["version", "region", "replicas"],
          additionalProperties: false,
        }),
        needsApproval: ({ version }) =>
          humanApproval(`Deploy ${version} to production?`, {
            quorum: 2,
            approvers: ["anna", "ben", "carla"],
            expiresAt: Date.now() + TWO_HOURS,
            context: { path: "deploy/eu-1.yaml", before: BEFORE, after: AFTER },
          }),
        execute: async function* ({ replicas }) {
          for (let up = 1; up <= replicas; up += 1) {
            await pause(400);
            yield `replica ${up} of ${replicas} is up`;
          }
          return { live: true, replicas };
        },
      }),
    ],
  });
  const office = agent({
    name: "office",
    model: model(officePlan),
    instructions: "Find rooms.",
    tools: [
      tool({
        name: "choose_room",
        description: "Books a room that a person chooses.",
        input: text("day", "people"),
        execute: async (_, ctx) =>
          ctx.ask(
            humanInput("Which room on Thursday?", {
              schema: jsonSchema<{ room: string; projector: boolean }>({
                type: "object",
                properties: {
                  room: { type: "string", title: "Room", enum: ["Alpspitze, floor 2", "Waxenstein, floor 4"] },
                  projector: { type: "boolean", title: "Projector" },
                },
                required: ["room"],
                additionalProperties: false,
              }),
            }),
            { key: "room" },
          ),
      }),
    ],
  });
  const etl = agent({
    name: "etl",
    model: model(etlPlan),
    instructions: "Import files.",
    tools: [
      tool({
        name: "import_rows",
        description: "Imports a file row by row.",
        input: text("file"),
        execute: async (_, ctx) => {
          await ctx.step("open", () => "41 rows");
          await ctx.step("check", () => "3 without a street");
          if (crashes) process.kill(process.pid, "SIGKILL");
          return { imported: 38 };
        },
      }),
    ],
  });
  const writer = agent({
    name: "writer",
    model: model(() => ({ fails: "the account has no credit left" })),
    instructions: "Write the weekly digest.",
  });
  const offer = graph<{ price: number; customer: string; discount: number }, { customer: string }>("offer")
    .node("draft", async (_input, ctx) => {
      ctx.setState(() => ({ price: 520 }));
      return { lines: 3 };
    })
    .node("stock", async () => ({ free: 12 }))
    .node("credit", async () => {
      await pause(120);
      return { score: 81 };
    })
    .node("send", async (_input, ctx) => ({ sent: true, price: ctx.state.price }))
    .edge(START, "draft")
    .edge("draft", "stock")
    .edge("draft", "credit")
    .edge("stock", "send")
    .edge("credit", "send")
    .edge("send", END)
    .compile({ state: { price: 0, customer: "Ann Huber", discount: 0.1 }, interruptBefore: ["send"] });
  return [guide, support, ops, office, offer, etl, writer];
}
