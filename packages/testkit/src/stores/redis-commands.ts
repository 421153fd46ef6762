import { EventEmitter, once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { service } from "./services.ts";

/**
 * Returns the commands with `part` in an argument that the server runs for `work`, those of scripts too. `client` is any client
 * of it; others may use the server at the same time.
 *
 * MONITOR has a connection of its own, read as lines: ioredis takes a command that another client sends meanwhile for the reply.
 */
export async function redisCommands(
  client: { echo(text: string): Promise<unknown> },
  part: string,
  work: () => Promise<unknown>,
): Promise<string[][]> {
  const { hostname, port, username, password } = new URL(await service("redis"));
  const socket = connect(Number(port || 6379), hostname);
  try {
    await once(socket, "connect");
    const seen: string[][] = [];
    const ended = `end of ${part} ${Math.random()}`;
    let replies = password === "" ? 1 : 2;
    const lines = createInterface(socket);
    const heard = new EventEmitter();
    lines.on("line", (line) => {
      replies -= 1;
      if (replies === 0) heard.emit("begin");
      if (replies >= 0) return;
      const args = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, arg]) => arg!);
      if (args.includes(ended)) heard.emit("end");
      else if (args.some((arg) => arg.includes(part))) seen.push(args);
    });
    const begins = once(heard, "begin");
    const ends = once(heard, "end");
    if (password !== "") socket.write(`AUTH ${username || "default"} ${password}\r\n`);
    socket.write("MONITOR\r\n");
    await begins;
    await work();
    await client.echo(ended);
    await ends;
    return seen;
  } finally {
    socket.destroy();
  }
}
