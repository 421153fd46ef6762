// Another process, another day: it finds the question in the file, answers it, and runs the rest of the call.
import { respond } from "@belay/core";
import { open } from "./move.ts";

const { runner, db, say } = open(process.argv[2]!);

// region answer
const [question] = (await runner.inbox({ kind: "input" })).items;
say(`${question!.tool} asks: ${question!.reason}`);

// Checked against the schema of the question, also after the process that asked is gone.
await runner.answer(question!.id, respond("third")).catch((error) => say(error.message.replace(question!.id, "it")));

const session = await runner.open(question!.threadId);
for await (const event of session.resume({ answers: { [question!.id]: respond(3, { by: "anna" }) } })) {
  if (event.type === "text-delta") say(event.text);
}
// endregion

await runner.close();
db.close();
