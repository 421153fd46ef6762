// The process that dies: it is killed in the middle of its second tool call.
import { open } from "./booking.ts";

const { runner } = await open(process.argv[2]!, { dieIn: "book_hotel" });
const session = await runner.open("trip");

for await (const event of session.run("Book me a train and a hotel.")) {
  if (event.type === "tool-start") console.log(`→ ${event.tool}`);
  if (event.type === "tool-end") console.log(`← ${event.tool}: ${event.outcome}`);
}
