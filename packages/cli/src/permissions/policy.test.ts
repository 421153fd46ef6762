import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PermissionRule, Permissions, Tool } from "@belay/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leadsTo } from "../tools/paths.ts";
import { folderTools } from "../tools/tools.ts";
import { builtInRules } from "./built-in.ts";
import { Policy, type PolicyOptions } from "./policy.ts";
import { readRulesFile, rulesFileOf } from "./rules-file.ts";
import { commandPrefix } from "./shell-command.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-policy-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function policyOf(permissions: Permissions, more: Partial<PolicyOptions> = {}): Policy {
  const policy: Policy = new Policy({
    folder,
    permissions,
    tools: (): readonly Tool<unknown>[] => folderTools(folder, policy.judge),
    leadsTo: (path) => leadsTo(folder, path),
    ...more,
  });
  return policy;
}

const effectOf = async (policy: Policy, tool: string, args: object) => (await policy.judge(tool, args as never)).effect;
const shellRule = (command: string, effect: PermissionRule["effect"] = "allow") => ({
  tool: "shell",
  args: { command },
  effect,
});

describe("TC4: a path is judged by its target", () => {
  const builtIn = { rules: builtInRules };

  test("a link to .env asks, and a link to a private key is denied, whatever their names", async () => {
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, ".env"), "KEY=1");
    writeFileSync(join(folder, "id_ed25519"), "secret");
    writeFileSync(join(folder, "README.md"), "read me");
    symlinkSync("../.env", join(folder, "docs/setup.md"));
    symlinkSync("../id_ed25519", join(folder, "docs/key.md"));
    symlinkSync("../README.md", join(folder, "docs/plain.md"));
    const policy = policyOf(builtIn);
    for (const tool of ["read", "search", "list"]) {
      expect(await effectOf(policy, tool, { pattern: "x", path: "docs/setup.md" })).toBe("ask");
      expect(await effectOf(policy, tool, { pattern: "x", path: "docs/key.md" })).toBe("deny");
      expect(await effectOf(policy, tool, { pattern: "x", path: "docs/plain.md" })).toBe("allow");
    }
    expect(await policy.denial("read", { path: "docs/key.md" })).toContain("private keys stay here");
  });

  test("a rule that allows the name of a link does not allow the target", async () => {
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, ".env"), "KEY=1");
    symlinkSync("../.env", join(folder, "docs/setup.md"));
    const docs: PermissionRule = { tool: "read", args: { path: "docs/*" }, effect: "allow" };
    const policy = policyOf({ rules: [...builtInRules, docs] });
    expect(await effectOf(policy, "read", { path: "docs/setup.md" })).toBe("ask");
    expect(await effectOf(policy, "read", { path: "docs/other.md" })).toBe("allow");
  });

  test.each([
    ["id_rsa", "deny"],
    ["keys/id_ed25519", "deny"],
    ["id_ecdsa.bak", "deny"],
    [".npmrc", "ask"],
    ["app/.netrc", "ask"],
    [".pgpass", "ask"],
    ["credentials", "ask"],
    ["aws/credentials.json", "ask"],
    [".env.local", "ask"],
    ["server.pem", "ask"],
    ["src/index.ts", "allow"],
    ["src/user-credentials.ts", "allow"],
  ] as const)("%s: %s", async (path, effect) => {
    expect(await effectOf(policyOf(builtIn), "read", { path })).toBe(effect);
  });

  test("case counts only if the file system heeds it", async () => {
    const own: PermissionRule = { tool: "read", args: { path: "Private/*" }, effect: "deny" };
    const rules = [...builtInRules, own];
    const folding = policyOf({ rules }, { foldsCase: true });
    for (const path of ["ID_RSA", "Id_Ed25519", "private/a", "PRIVATE/a"])
      expect(await effectOf(folding, "read", { path }), path).toBe("deny");
    for (const path of [".ENV", ".Npmrc", "Credentials"])
      expect(await effectOf(folding, "read", { path }), path).toBe("ask");
    expect(await effectOf(policyOf({ rules }, { foldsCase: false }), "read", { path: "private/a" })).toBe("allow");
  });
});

describe("TC5: the file of a person", () => {
  const ownFile = (content: object) => {
    writeFileSync(rulesFileOf(folder), JSON.stringify(content));
    return readRulesFile(folder);
  };

  test("leaves the built-in rules on, below its own", async () => {
    const { permissions, builtIn } = ownFile({ rules: [{ tool: "read", args: { path: "*.env" }, effect: "allow" }] });
    expect(builtIn).toEqual(builtInRules);
    const policy = policyOf(permissions);
    expect(await effectOf(policy, "read", { path: ".env" })).toBe("allow");
    expect(await effectOf(policy, "read", { path: ".npmrc" })).toBe("ask");
    expect(await effectOf(policy, "read", { path: "id_rsa" })).toBe("deny");
  });

  test('drops them with "builtin": false, and says no to anything else there', async () => {
    const policy = policyOf(ownFile({ builtin: false, rules: [] }).permissions);
    expect(await effectOf(policy, "read", { path: "id_rsa" })).toBe("allow");
    expect(() => ownFile({ builtin: "no" })).toThrow('builtin is "no", not true or false');
    expect(() => ownFile({ rule: [] })).toThrow('it has a field "rule" that does not exist');
    expect(() => ownFile([])).toThrow("they are not an object");
  });

  test("that an earlier release wrote with its rules in it still works", async () => {
    const earlier = { id: "env-files", tool: "read", args: { path: "*.env*" }, effect: "ask" };
    expect(await effectOf(policyOf(ownFile({ rules: [earlier] }).permissions), "read", { path: ".env" })).toBe("ask");
  });
});

describe("TC6: a pattern for commands", () => {
  const npmTest = { rules: [shellRule("npm test*")] };

  test.each([
    "npm test; rm -rf .",
    "npm test && rm -rf .",
    "npm test || rm -rf .",
    "npm test & rm -rf .",
    "npm test | sh",
    "npm test $(rm -rf .)",
    "npm test `rm -rf .`",
    "npm test > npm test.txt",
    "npm test >> a",
    "npm test < a",
    "npm test 2>&1",
    "npm test\nrm -rf .",
    "npm test\nnpm test",
    "npm test (rm)",
    "FOO=1 npm test",
    "env FOO=1 npm test",
    "alias npm='rm -rf .'; npm test",
    "npm test; npm() { rm -rf .; }; npm test",
    "PATH=. ; npm test",
    "cd .. && npm test",
    " ; rm -rf .",
  ])("does not allow %j", async (command) => {
    expect(await effectOf(policyOf(npmTest), "shell", { command })).toBe("ask");
  });

  test("allows a command, and a chain if each part may run", async () => {
    const policy = policyOf({ rules: [...npmTest.rules, shellRule("git status *")] });
    for (const command of [
      "npm test",
      "npm test -- --bail",
      "npm test; npm test:unit",
      "git status && npm test",
      "git status | npm test &",
    ])
      expect(await effectOf(policy, "shell", { command }), command).toBe("allow");
  });

  test("allows a command that a rule names exactly, with any content, or a tool without patterns", async () => {
    const exact = policyOf({ rules: [shellRule("make check > out.txt"), shellRule("make*")] });
    expect(await effectOf(exact, "shell", { command: "make check > out.txt" })).toBe("allow");
    expect(await effectOf(exact, "shell", { command: "make check > Makefile" })).toBe("ask");
    const all = policyOf({ rules: [{ tool: "shell", effect: "allow" }] });
    expect(await effectOf(all, "shell", { command: "a > b; $(c)" })).toBe("allow");
  });

  test("that denies or asks holds for each part, also of a chain that is allowed as a whole", async () => {
    const policy = policyOf({
      rules: [{ tool: "shell", effect: "allow" }, shellRule("rm *", "deny"), shellRule("git push*", "ask")],
    });
    expect(await effectOf(policy, "shell", { command: "ls; rm -rf ." })).toBe("deny");
    expect(await effectOf(policy, "shell", { command: "ls && git push" })).toBe("ask");
    expect(await effectOf(policy, "shell", { command: "ls" })).toBe("allow");
  });

  test.each([
    ["npm test", "npm test *"],
    ["npm test -- --bail", "npm test *"],
    ["npm run lint --fix", "npm run lint *"],
    ["git status -s", "git status *"],
    ["npm run", undefined],
    ["ls -la", undefined],
    ["rm -rf x", undefined],
    ["sudo make check", undefined],
    ["bash run.sh", undefined],
    ["node build", undefined],
    ["FOO=1 npm test", undefined],
    ["npm test; ls", undefined],
    ["npm test > a", undefined],
    ["npm  test", undefined],
  ])("the beginning of %j to offer: %j", (command, prefix) => {
    expect(commandPrefix(command)).toBe(prefix);
  });
});

describe("modes", () => {
  const write = { path: "a.txt", text: "x" };
  const rules = [
    ...builtInRules,
    shellRule("npm test *"),
    { id: "no", tool: "write", args: { path: "no/*" }, effect: "deny" } as const,
  ];

  test("ask: as the rules say; accept edits: files are changed unasked, unless a rule speaks of them", async () => {
    const policy = policyOf({ rules });
    expect(await effectOf(policy, "write", write)).toBe("ask");
    policy.mode = "accept-edits";
    expect(await effectOf(policy, "write", write)).toBe("allow");
    expect(await effectOf(policy, "edit", { path: "a.txt", old: "a", new: "b" })).toBe("allow");
    expect(await effectOf(policy, "write", { ...write, path: ".env" })).toBe("ask");
    expect(await effectOf(policy, "write", { ...write, path: ".mcp.json" })).toBe("ask");
    expect(await effectOf(policy, "write", { ...write, path: "no/a" })).toBe("deny");
    expect(await effectOf(policy, "shell", { command: "ls" })).toBe("ask");
    expect(await effectOf(policy, "fetch", { url: "https://example.com" })).toBe("ask");
  });

  test("plan: tools that only read run, tools that make a change are denied, also if a rule allows them", async () => {
    const policy = policyOf({ rules });
    policy.mode = "plan";
    expect(await effectOf(policy, "read", { path: "a.txt" })).toBe("allow");
    expect(await effectOf(policy, "read", { path: ".env" })).toBe("ask");
    expect(await effectOf(policy, "ask_user", { question: "?" })).toBe("allow");
    expect(await effectOf(policy, "fetch", { url: "https://example.com" })).toBe("ask");
    expect(await effectOf(policy, "write", write)).toBe("deny");
    expect(await effectOf(policy, "edit", { path: "a.txt", old: "a", new: "b" })).toBe("deny");
    expect(await effectOf(policy, "shell", { command: "npm test" })).toBe("deny");
    expect(await policy.denial("shell", { command: "npm test" })).toContain("plan mode");
  });
});
