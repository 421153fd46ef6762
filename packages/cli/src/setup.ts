// openBelay: everything that a front end needs, ready to use. The app, -p and the commands all begin here.

import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type Agent,
  agent,
  createRunner,
  type InboxItem,
  type Interrupt,
  type PermissionRule,
  type Runner,
  type Session,
  type Tool,
} from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { allThreads } from "./all-threads.ts";
import { configFolderOf, currentFolder, dataFolderOf } from "./data/folders.ts";
import { openDatabase } from "./data/open-database.ts";
import { storeForWorker } from "./data/store-for-worker.ts";
import { checkFolder, noteThread, readNote } from "./data/thread-notes.ts";
import { factsOf } from "./facts.ts";
import { type Guide, readGuides } from "./guides.ts";
import { instructions } from "./instructions.ts";
import type { Connected, Places } from "./mcp/connect.ts";
import { chooseModel } from "./model/choose.ts";
import { asPermissionRule, readRules, rulesIn, saveRule } from "./permissions/folder-rules.ts";
import type { Judge } from "./permissions/judge.ts";
import type { Mode } from "./permissions/mode.ts";
import { Policy } from "./permissions/policy.ts";
import { type ApprovedCall, patternOf, type Scope } from "./permissions/remember.ts";
import { readRulesFile } from "./permissions/rules-file.ts";
import { storeWithoutRules } from "./permissions/store-without-rules.ts";
import { type Preview, previewOf } from "./preview.ts";
import { type Problem, problem } from "./problem.ts";
import { leadsTo } from "./tools/paths.ts";
import { folderTools } from "./tools/tools.ts";
import { userName } from "./user-name.ts";

export type { Preview } from "./preview.ts";

export interface SetupOptions {
  /** Its folder. Default: the current one. */
  readonly folder?: string;
  /** "provider/name", "demo", or a name for the server of `baseUrl`. */
  readonly model?: string;
  /** A server that speaks OpenAI's protocol. */
  readonly baseUrl?: string;
  readonly dataFolder?: string;
  /** Where permissions.json and mcp.json are. */
  readonly config?: string;
  /** No person can answer: a call that would ask is denied. */
  readonly unattended?: boolean;
  /** False: no MCP servers. */
  readonly mcp?: boolean;
  /** Called with the MCP servers that take their time to come up, if they are waited for. */
  readonly slowServers?: (servers: readonly string[]) => void;
  /** False: MCP servers come up meanwhile, and their tools are added when they do. True by default. */
  readonly waitForServers?: boolean;
  /** How long the demo model takes over each word; not at all by default. */
  readonly delayMs?: number;
  /** Picks the threads that `runner.work()` of this setup moves; all of them by default. */
  readonly works?: (threadId: string) => boolean;
  /** Which process runs what is sent to a thread, and what is approved; this one by default. */
  readonly start?: "here" | "worker";
}

/** The past up to a seq, up to and with a message, or before a message. */
type ForkPoint = { readonly at: number | string } | { readonly before: string };

const FIRST_TOKEN_MS = 300_000;

/** Threads are its; it is in every journal. */
export const AGENT = "belay";

export interface BelaySetup {
  readonly runner: Runner;
  readonly agent: Agent;
  /** For instance "anthropic/claude-sonnet-4-5", or "demo (offline)". */
  readonly modelName: string;
  /** True where rules stand in for a model. */
  readonly demo: boolean;
  /** Tokens from which on a thread is summed up; undefined: never. */
  readonly contextTokens: number | undefined;
  /** The folder's own guides, as they were at the start. */
  readonly guides: readonly Guide[];
  /** Has the thread summed up before its next request to the model. */
  compactNext(focus: string): void;
  /** With all links resolved. */
  readonly folder: string;
  readonly dataFolder: string;
  readonly configFolder: string;
  /** Warnings for the person before the first prompt: a server that did not start, for instance. */
  readonly warnings: readonly Problem[];
  /** MCP servers that come up meanwhile; `warnings` may grow until all of them are ready. */
  readonly servers: Pick<Connected, "pending" | "ready"> | undefined;
  /**
   * runner.open(), which also notes the folder of a new thread. Throws `FOLDER_OTHER` for one that is about another, and
   * `THREAD_ELSEWHERE` for one that another terminal runs.
   */
  openThread(threadId?: string): Promise<Session>;
  /**
   * Makes a thread that begins at the end of another one, or at an earlier point of it, and notes its folder. If the other
   * thread is about another folder, none of its requests and permissions count in this one.
   */
  forkThread(threadId: string, point?: ForkPoint): ReturnType<Runner["fork"]>;
  /** Sets the person's mode, beside the rules. */
  setMode(mode: Mode): void;
  /** Allows an approved call from now on, and others like it. Returns the rule's id; undefined if there is no rule to make. */
  remember(call: ApprovedCall, scope: Scope, by: string): string | undefined;
  /** Returns the preview of a call that waits for approval; undefined for other requests. */
  previewOf(request: Interrupt | InboxItem): Preview | undefined;
  close(): Promise<void>;
}

export async function openBelay(options: SetupOptions = {}): Promise<BelaySetup> {
  const folder = options.folder === undefined ? currentFolder() : realFolder(options.folder);
  const dataFolder = dataFolderOf(options.dataFolder);
  const configFolder = configFolderOf(options.config);
  const { permissions } = readRulesFile(configFolder);
  const { model, name: modelName, demo, contextTokens } = await chooseModel(options);
  const remembered = () => rulesIn(readRules(dataFolder), folder).map(asPermissionRule);
  const policy = new Policy({
    folder,
    permissions,
    remembered,
    tools: () => tools(),
    leadsTo: (path) => leadsTo(folder, path),
  });
  const { judge } = policy;
  const servers =
    options.mcp === false ? undefined : await mcpServers({ configFolder, dataFolder, folder }, judge, options);
  const own = folderTools(folder, judge, (threadId) => factsOf(runner, threadId), dataFolder);
  let known: { readonly of: unknown; readonly all: readonly Tool<unknown>[] } = { of: undefined, all: own };
  const tools = () => {
    const of = servers?.tools;
    if (of !== known.of) known = { of, all: [...own, ...(of ?? [])] };
    return known.all;
  };
  const guides = readGuides(folder);
  let wish: { readonly focus: string } | undefined;
  const wanted = () => {
    const now = wish;
    wish = undefined;
    return now;
  };
  const context = contextTokens === undefined ? {} : { context: { maxTokens: contextTokens, wanted } };
  // Some models think for minutes before their first word; a stream that has begun and falls silent is another matter.
  const timeouts = { firstTokenMs: FIRST_TOKEN_MS };
  const guide = agent({ name: AGENT, model, tools, instructions: instructions(folder, guides), timeouts, ...context });
  const db = await openDatabase(dataFolder).catch(async (error) => {
    await servers?.close();
    throw error;
  });
  const runner = createRunner({
    agent: guide,
    // A prompt that waits looks fifty times a second whether another process has written: a tenth of the delay that a person notices.
    store: storeForWorker(storeWithoutRules(sqliteStore(db, { pollMs: 20 })), options.works ?? (() => true)),
    // The policy decides, by each tool's `needsApproval` and by the hook. The runtime checks the rules that no approval
    // overrides once more.
    permissions: { rules: permissions.rules?.filter(isStrict) ?? [], default: "allow" },
    hooks: {
      beforeTool: async ({ tool, args }) => {
        const reject = await policy.denial(tool, args);
        return reject === undefined ? undefined : { reject };
      },
    },
    unattended: options.unattended ?? false,
    start: options.start,
  });
  return {
    runner,
    agent: guide,
    modelName,
    demo,
    contextTokens,
    guides,
    compactNext(focus) {
      if (contextTokens !== undefined) wish = { focus };
    },
    folder,
    dataFolder,
    configFolder,
    get warnings() {
      return servers?.warnings ?? [];
    },
    servers,
    setMode(mode) {
      policy.mode = mode;
    },
    remember(call, scope, by) {
      const pattern = patternOf(call, scope);
      if (pattern === undefined) return undefined;
      const id = `rule.${randomUUID().slice(0, 8)}`;
      saveRule(dataFolder, { id, ...pattern, ...(scope !== "everywhere" && { folder }), by, at: Date.now() });
      return id;
    },
    async openThread(threadId) {
      if (threadId !== undefined) {
        checkFolder(dataFolder, threadId, folder);
        const owner = (await runner.look(threadId))?.owner;
        if (owner !== undefined && owner.name !== runner.owner) throw problem("THREAD_ELSEWHERE", { thread: threadId });
      }
      const session = await runner.open(threadId);
      if (readNote(dataFolder, session.threadId) === undefined) noteThread(dataFolder, session.threadId, { folder });
      return session;
    },
    async forkThread(threadId, point) {
      const about = readNote(dataFolder, threadId)?.folder;
      const head = (await allThreads(runner)).find((row) => row.threadId === threadId)?.head ?? 0;
      const { threadId: as } = await runner.open();
      // At any death of this process: with the permissions of a folder, the fork is about that folder.
      if (about !== undefined) noteThread(dataFolder, as, { folder: about });
      const forked = await runner.fork(threadId, { ...(point ?? { at: head }), as });
      if (about === folder) return forked;
      await forgetAllowed(runner, forked.session);
      noteThread(dataFolder, as, { folder });
      return forked;
    },
    previewOf,
    async close() {
      await runner.close();
      await servers?.close();
      db.close();
    },
  };
}

function isStrict({ effect }: PermissionRule): boolean {
  return effect === "deny" || effect === "always-ask";
}

/** Requests and approvals of another folder do not count in this one. */
async function forgetAllowed(runner: Runner, session: Session): Promise<void> {
  const { threadId } = session;
  const by = userName();
  await session.interrupt({ reason: "it goes on in another folder", by });
  for (const { id } of await runner.rules({ threadId })) await runner.removeRule(id, { threadId, by });
}

/** Without a configured server, no code of the protocol is loaded. */
async function mcpServers(
  places: Places,
  judge: Judge,
  { slowServers, waitForServers = true }: SetupOptions,
): Promise<Connected | undefined> {
  const files = [join(places.configFolder, "mcp.json"), join(places.folder, ".mcp.json")];
  if (!files.some((file) => existsSync(file))) return undefined;
  const { connectServers, startServers } = await import("./mcp/connect.ts");
  return waitForServers ? connectServers(places, judge, slowServers) : startServers(places, judge);
}

function realFolder(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw problem("FOLDER_MISSING", { folder: path });
  return realpathSync(path);
}
