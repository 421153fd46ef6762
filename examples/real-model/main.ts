// Runs hello.ts as it is, with the real provider package, against a server on this machine that speaks the provider's wire
// format. With ANTHROPIC_API_KEY set, `node --import tsx examples/real-model/hello.ts` calls the real service.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

const usage = { input_tokens: 5, output_tokens: 5 };
const answer = [
  {
    type: "message_start",
    message: { id: "1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello from the wire." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
  { type: "message_stop" },
];
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(answer.map((part) => `event: ${part.type}\ndata: ${JSON.stringify(part)}\n\n`).join(""));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const program = fileURLToPath(new URL("hello.ts", import.meta.url));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const env = { ...process.env, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: address };
const child = spawn(process.execPath, ["--import", "tsx", program], { stdio: "inherit", env });
const [code] = await once(child, "exit");
server.close();
process.exitCode = code ?? 1;
