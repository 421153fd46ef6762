// The chat of chat.tsx, drawn into a document, over a real server.
import { connect } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { belayServer } from "@belay/server";
import { serve } from "@hono/node-server";
import { Window } from "happy-dom";
import { expect, onTestFinished, test } from "vitest";

const window = new Window();
const browser = { window, document: window.document, navigator: window.navigator, FormData: window.FormData };
for (const [name, value] of Object.entries(browser))
  Object.defineProperty(globalThis, name, { value, configurable: true });
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { Chat } = await import("./chat.tsx");

test("shows text as it streams, stops it, and asks for an approval", async () => {
  const book = tool({
    name: "book",
    description: "Books a hut.",
    input: jsonSchema<{ hut: string }>({ type: "object", properties: { hut: { type: "string" } } }),
    needsApproval: ({ hut }) => humanApproval(`Book ${hut}?`),
    execute: ({ hut }) => `${hut} is booked`,
  });
  const model = scriptedModel([
    [{ text: ["A belay ", "has a rope,"] }, { stall: true }],
    [{ call: "book", args: { hut: "Reintal" } }],
    "You sleep at the hut.",
  ]);
  const runner = createRunner({ agent: agent({ name: "guide", model, tools: [book] }) });
  const server = belayServer({ runner, work: {} });
  const http = serve({ fetch: server.fetch, hostname: "127.0.0.1", port: 0 });
  await new Promise((resolve) => http.once("listening", resolve));
  const belay = connect({ url: `http://127.0.0.1:${(http.address() as { port: number }).port}`, token: server.token });
  const root = createRoot(window.document.body as unknown as Element);
  onTestFinished(async () => {
    root.unmount();
    await server.close({ timeoutMs: 1000 });
    http.close();
  });

  root.render(createElement(Chat, { belay, id: "trip" }));
  const page = () => window.document.body.textContent;
  const button = (label: string) => [...window.document.querySelectorAll("button")].find((each) => each.textContent === label); // biome-ignore format: one line
  const say = (text: string) => {
    window.document.querySelector("input")!.value = text;
    window.document.querySelector("form")!.requestSubmit();
  };
  await expect.poll(() => window.document.querySelector("form")).not.toBe(null);
  say("What is a belay?");
  await expect.poll(page).toContain("A belay has a rope,");
  button("Stop")!.click();
  await expect.poll(async () => (await belay.open("trip").look()).pauseType).toBe("user_interrupt");
  say("Book a hut.");
  await expect.poll(page).toContain("Book Reintal?");
  button("Yes")!.click();
  await expect.poll(page).toContain("You sleep at the hut.");
  expect(page()).not.toContain("Book Reintal?");
});
