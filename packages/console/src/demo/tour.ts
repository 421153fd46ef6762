// The tour: real runs that rest where there is something to see, begun by people through the API of the server. Nothing is
// written into the store but by running.

import { spawn } from "node:child_process";

/** The API as the people of the tour use it. Both throw if the server refuses. */
export interface People {
  post(person: string, path: string, body: unknown): Promise<Body>;
  get(path: string): Promise<Body>;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of several routes.
type Body = any;

const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Starts a thread and waits until it rests, in any state. */
async function begin(people: People, person: string, agent: string, threadId: string, input: string): Promise<void> {
  await people.post(person, "/threads", { threadId, agent, input });
  await rest(people, threadId);
}

async function rest({ get }: People, threadId: string): Promise<void> {
  while ((await get(`/threads/${threadId}`)).state === "running") await soon();
}

/** Seeds all threads but the one that streams. `crash` ends a child process in the middle of an import. */
export async function seed(people: People, crash: () => Promise<void>): Promise<void> {
  await Promise.all([
    begin(people, "anna", "support", "refund-b", "Refund order B, please."),
    deploy(people),
    begin(people, "anna", "office", "room", "Find a room for six on Thursday."),
    begin(people, "anna", "offer", "offer-ann", "Offer for Ann Huber"),
    begin(people, "ben", "writer", "digest", "Write the weekly digest."),
    zugspitze(people),
    lateTransfer(people),
    crash(),
  ]);
}

/** Two people must approve; one has. */
async function deploy(people: People): Promise<void> {
  await begin(people, "carla", "ops", "deploy", "Ship 1.4 once the canary has been clean for half an hour.");
  const { items } = await people.get("/inbox?threadId=deploy");
  await people.post("ben", `/requests/${items[0].id}/answer`, { type: "approve", note: "canary looked fine" });
}

/** Two questions and two effects: something to go back in. */
async function zugspitze(people: People): Promise<void> {
  await begin(people, "anna", "guide", "zugspitze", "Which hut is on the way up the Zugspitze?");
  await people.post("anna", "/threads/zugspitze/runs", { input: "The steep way, then. Book the hut." });
  await rest(people, "zugspitze");
}

/** A stop while the bank ignores it: the transfer ends after the stop, and the mail is held. */
async function lateTransfer(people: People): Promise<void> {
  const input = "Transfer the refund of order B, then write to the customer.";
  await people.post("anna", "/threads", { threadId: "transfer", agent: "support", input });
  for (let started = false; !started; await soon()) {
    const { items } = await people.get("/threads/transfer/facts");
    started = items.some(({ type }: { readonly type: string }) => type === "tool-start");
  }
  await people.post("anna", "/threads/transfer/interrupt", { reason: "leave C out" });
}

/** The long answer: it streams while the visitor looks. */
export async function stream({ post }: People): Promise<void> {
  await post("anna", "/threads", {
    threadId: "plan",
    agent: "guide",
    input: "Plan two days on the Zugspitze for the two of us.",
  });
}

/** Runs Node with `args` as a child that imports and is killed half-way. */
export function crashIn(args: readonly string[]): () => Promise<void> {
  return () =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
      let words = "";
      child.stderr.on("data", (chunk) => {
        words += chunk;
      });
      child.on("error", reject);
      child.on("exit", (_code, signal) =>
        signal === "SIGKILL" ? resolve() : reject(new Error(`The import did not crash: ${words}`)),
      );
    });
}
