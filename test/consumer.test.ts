import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns its errors; empty if there are none. */
async function compile(project: string): Promise<string> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, "-p", project, "--pretty", "false"]);
  return run.then(
    ({ stdout }) => stdout,
    (error) => error.stdout || String(error),
  );
}

/** The signatures of the main functions, as editors show them on hover. */
function hovers(dist: string): Record<string, string> {
  const files = {
    agent: "chat/agent",
    tool: "tool/tool",
    graph: "graph/graph",
    defineAgent: "workflow/define-agent",
    createRunner: "runner/front/runner",
    sequential: "workflow/sequential",
    fromAiSdk: "model/from-ai-sdk",
    memoryStore: "store/memory",
  };
  return Object.fromEntries(
    Object.entries(files).map(([name, file]) => {
      const text = readFileSync(join(dist, `${file}.d.ts`), "utf8");
      const all =
        text.match(
          new RegExp(
            `^export declare function ${name}\\b[^]*?;$(?=\\s*(?:export|declare|type|interface|/\\*\\*|(?![^])))`,
            "gm",
          ),
        ) ?? [];
      return [name, all.join(" ").replace(/\s+/g, " ")];
    }),
  );
}

test("types: the published declarations serve a program under the strictest settings, with exactOptionalPropertyTypes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-consumer-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const project = (name: string, config: object) => {
    writeFileSync(join(folder, name), JSON.stringify(config));
    return join(folder, name);
  };
  const core = join(root, "packages/core");
  const declarations = project("declarations.json", {
    extends: join(core, "tsconfig.build.json"),
    compilerOptions: { rootDir: join(core, "src"), outDir: join(folder, "dist") },
    include: ["index", "store", "sqlite", "testing/index"].map((name) => join(core, `src/${name}.ts`)),
  });
  expect(await compile(declarations)).toBe("");
  expect(hovers(join(folder, "dist"))).toMatchInlineSnapshot(`
    {
      "agent": "export declare function agent<S extends StandardSchema | undefined = undefined, Deps = unknown>(options: AgentOptions<S, Deps>): Agent<OutputOf<S>, Deps>;",
      "createRunner": "export declare function createRunner<A extends Agent<unknown, never>>(options: Omit<RunnerOptions<never, never>, "agent" | "agents" | "deps"> & { readonly agents: readonly A[]; } & NeededDeps<DepsOf<A>>): Runner<OutputOf<A>, DepsOf<A>>; export declare function createRunner<Out = string, Deps = unknown>(options: RunnerOptions<Out, Deps> & NeededDeps<Deps>): Runner<Out, Deps>;",
      "defineAgent": "export declare function defineAgent<Out = unknown, Deps = unknown>(options: CustomAgentOptions<Out, Deps>): Agent<Awaited<Out>, Deps>;",
      "fromAiSdk": "export declare function fromAiSdk(model: AiSdkModel, options?: FromAiSdkOptions): Model;",
      "graph": "export declare function graph<State extends object = Record<string, Json>, In = unknown, Out = unknown, Deps = unknown>(name: string): GraphBuilder<State, In, Out, Deps, never>;",
      "memoryStore": "export declare function memoryStore(options?: MemoryStoreOptions): Store;",
      "sequential": "export declare function sequential<Deps = unknown>(options: SequentialOptions<Deps>): Agent<unknown, Deps>;",
      "tool": "export declare function tool<S extends StandardSchema, Deps = unknown>(options: ToolOptions<S, Deps>): Tool<Deps>;",
    }
  `);
  const consumer = project("consumer.json", {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noPropertyAccessFromIndexSignature: true,
      paths: {
        "@belay/core": ["./dist/index.d.ts"],
        "@belay/core/*": ["./dist/*.d.ts", "./dist/*/index.d.ts"],
        "*": ["./node_modules/*"],
      },
      typeRoots: [join(root, "node_modules/@types")],
    },
    files: [join(root, "test/strict-consumer.ts")],
  });
  expect(await compile(consumer)).toBe("");
});
