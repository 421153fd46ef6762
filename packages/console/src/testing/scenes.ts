// Every page of the console in every state that a person can meet, as data. One test draws them and checks each for rules of
// accessibility that it breaks, for text that is wider than the page, and for complaints of the page.

import type { Page } from "playwright-core";
import { type OddSite, openOddSite } from "./odd-site.ts";
import { type OpenConsole, openConsole } from "./open-console.ts";

export interface Sites extends AsyncDisposable {
  readonly full: OpenConsole;
  readonly empty: OpenConsole;
  readonly odd: OddSite;
}

export async function openSites(): Promise<Sites> {
  // One after the other: each kills a child of its own, and a slow machine need not do it three times at once.
  const full = await openConsole({ delayMs: 500 });
  const empty = await openConsole({ tour: false });
  const odd = await openOddSite();
  return {
    full,
    empty,
    odd,
    async [Symbol.asyncDispose]() {
      for (const site of [full, empty, odd]) await site[Symbol.asyncDispose]();
    },
  };
}

export interface Scene {
  readonly name: string;
  readonly site: "full" | "empty" | "odd";
  /** The address, or a function that finds it out. */
  readonly path: string | ((sites: Sites) => Promise<string>);
  /** The person that looks; anna if left out. */
  readonly as?: string;
  /** "loading": the server never answers; "error": it answers with a problem; "login": it does not know the person. */
  readonly wire?: "loading" | "error" | "login";
  /** The acts on the site before the first picture, once for all pictures of the scene. */
  prepare?(sites: Sites): Promise<unknown>;
  /** The acts of the person on the page. */
  act?(page: Page, sites: Sites): Promise<unknown>;
  /** Puts back what `act` did, on the same page. */
  after?(page: Page, sites: Sites): Promise<unknown>;
}

export async function requestOf(site: { url: string }, threadId: string): Promise<string> {
  const { items } = (await (await fetch(`${site.url}/v1/inbox`)).json()) as {
    items: { id: string; threadId: string }[];
  };
  const found = items.find((item) => item.threadId === threadId);
  if (found === undefined) throw new Error(`thread ${threadId} has no open request`);
  return found.id;
}

export async function post(site: { url: string }, path: string, body: unknown, as = "anna"): Promise<unknown> {
  const headers = { "content-type": "application/json", "x-belay": "1", cookie: `belay-demo-as=${as}` };
  const response = await fetch(`${site.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.status === 204 ? undefined : response.json();
}

const card = (threadId: string) => async (sites: Sites) =>
  `/inbox/${encodeURIComponent(await requestOf(sites.full, threadId))}`;

const button = (page: Page, name: RegExp | string) => page.getByRole("button", { name }).first();

/** The long answer streams anew, so that it is still written when the picture is taken. */
const streams = (threadId: string) => (sites: Sites) =>
  post(sites.full, "/threads", {
    threadId,
    agent: "guide",
    input: "Plan two days on the Zugspitze for the two of us.",
  });

const visible: readonly (readonly [string, string])[] = [
  ["inbox", "/inbox"],
  ["threads", "/threads"],
  ["thread", "/threads/zugspitze"],
  ["timeline", "/threads/zugspitze/timeline"],
  ["graph", "/threads/offer-ann/graph"],
  ["facts", "/threads/zugspitze/facts"],
  ["fork", "/threads/zugspitze/fork"],
  ["agents", "/agents/support"],
  ["permissions", "/permissions"],
];

/** In this order: scenes that change a site come after those that need it unchanged. */
export const scenes: readonly Scene[] = [
  { name: "inbox", site: "full", path: "/inbox" },
  {
    name: "inbox-selected",
    site: "full",
    path: "/inbox",
    act: async (page) => {
      if (page.viewportSize()!.width < 500) return;
      for (const box of await page.locator(".ask-row .check").all()) await box.check();
      await button(page, /^Approve…/).click();
    },
  },
  { name: "threads", site: "full", path: "/threads" },
  {
    name: "threads-selected",
    site: "full",
    path: "/threads",
    act: async (page) => {
      if (page.viewportSize()!.width < 500) return;
      for (const at of [1, 2]) await page.locator("tbody .check").nth(at).check();
    },
  },
  { name: "threads-no-match", site: "full", path: "/threads?q=nothing%20like%20this" },
  { name: "thread-running", site: "full", path: "/threads/plan-2", prepare: streams("plan-2") },
  {
    name: "stop-options",
    site: "full",
    path: "/threads/plan-3",
    prepare: streams("plan-3"),
    act: async (page) => {
      await page.getByText("writing").first().waitFor();
      await page.keyboard.press("Control+Shift+.");
      await page.getByRole("dialog").waitFor();
    },
  },
  { name: "thread-late", site: "full", path: "/threads/transfer" },
  {
    name: "thread-late-open",
    site: "full",
    path: "/threads/transfer",
    act: (page) => page.locator(".call-line").first().click(),
  },
  { name: "thread-completed", site: "full", path: "/threads/zugspitze" },
  { name: "thread-asks", site: "full", path: "/threads/deploy" },
  { name: "thread-question", site: "full", path: "/threads/room" },
  { name: "thread-crashed", site: "full", path: "/threads/import" },
  { name: "thread-failed", site: "full", path: "/threads/digest" },
  { name: "thread-at-node", site: "full", path: "/threads/offer-ann" },
  { name: "timeline", site: "full", path: "/threads/transfer/timeline" },
  {
    name: "timeline-detail",
    site: "full",
    path: "/threads/deploy/timeline",
    act: (page) => page.locator("button.tl-row").last().click(),
  },
  { name: "graph", site: "full", path: "/threads/offer-ann/graph" },
  {
    name: "graph-edited",
    site: "full",
    path: "/threads/offer-ann/graph",
    act: (page) => page.getByLabel("price").fill("450"),
  },
  { name: "facts", site: "full", path: "/threads/transfer/facts" },
  { name: "facts-one", site: "full", path: "/threads/transfer/facts?fact=5" },
  { name: "fork", site: "full", path: "/threads/zugspitze/fork" },
  { name: "agents", site: "full", path: "/agents" },
  { name: "agent", site: "full", path: "/agents/support" },
  { name: "agent-graph", site: "full", path: "/agents/offer" },
  { name: "permissions", site: "full", path: "/permissions" },
  {
    name: "permissions-verdict",
    site: "full",
    path: "/permissions",
    act: async (page) => {
      await button(page, "What happens?").click();
      await page.getByRole("status").last().waitFor();
    },
  },
  { name: "no-such-thread", site: "full", path: "/threads/no-such-thread" },
  { name: "no-such-page", site: "full", path: "/nowhere" },
  { name: "card-deploy", site: "full", path: card("deploy") },
  { name: "card-refund", site: "full", path: card("refund-b") },
  { name: "card-room", site: "full", path: card("room") },
  {
    name: "card-edited",
    site: "full",
    path: card("refund-b"),
    act: async (page) => {
      await button(page, /^Edit/).click();
      await page.getByLabel("euros").fill("90");
    },
  },
  {
    name: "card-edited-quorum",
    site: "full",
    path: card("deploy"),
    act: async (page) => {
      await button(page, /^Edit/).click();
      await page.getByLabel("region").fill("eu-2");
    },
  },
  {
    name: "card-armed",
    site: "full",
    path: card("deploy"),
    act: async (page) => {
      await page.waitForTimeout(400);
      await page.keyboard.press("a");
    },
  },
  {
    name: "card-undo",
    site: "full",
    path: card("refund-b"),
    act: async (page) => {
      await button(page, /^Approve/).click();
      await page.getByText(/is sent in/).waitFor();
    },
    after: (page) => button(page, /^Undo/).click(),
  },
  { name: "card-reject", site: "full", path: card("deploy"), act: (page) => button(page, /^Reject/).click() },
  {
    name: "card-remember",
    site: "full",
    path: card("refund-b"),
    act: (page) => page.getByLabel("Do not ask again for exactly this").check(),
  },
  { name: "card-viewer", site: "full", path: card("deploy"), as: "vera" },
  { name: "thread-viewer", site: "full", path: "/threads/transfer", as: "vera" },
  {
    name: "palette",
    site: "full",
    path: "/threads",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("re");
      await page.getByRole("dialog").getByRole("option").first().waitFor();
      await page.waitForTimeout(300);
    },
  },
  {
    name: "keys",
    site: "full",
    path: "/inbox",
    act: (page) => page.waitForTimeout(400).then(() => page.keyboard.press("?")),
  },
  {
    name: "settings",
    site: "full",
    path: "/threads",
    act: (page) => button(page, /^(Theme, language, density|Settings)/).click(),
  },
  { name: "new-thread", site: "full", path: "/threads?new=1" },
  { name: "thread-menu", site: "full", path: "/threads/transfer", act: (page) => button(page, "More").click() },
  {
    name: "terminate",
    site: "full",
    path: "/threads/transfer",
    act: async (page) => {
      await button(page, "More").click();
      await page.getByRole("menuitem", { name: /^Terminate/ }).click();
    },
  },
  ...visible.map(([name, path]): Scene => ({ name: `${name}-loading`, site: "full", path, wire: "loading" })),
  ...visible.map(([name, path]): Scene => ({ name: `${name}-error`, site: "full", path, wire: "error" })),
  { name: "login", site: "full", path: "/inbox", wire: "login" },
  {
    name: "offline",
    site: "full",
    path: "/threads/transfer",
    act: async (page, { full }) => {
      await full.setOnline(false);
      await page.getByText(/Not connected since/).waitFor();
    },
    after: (_page, { full }) => full.setOnline(true),
  },
  { name: "empty-inbox", site: "empty", path: "/inbox" },
  { name: "empty-decided", site: "empty", path: "/inbox?show=decided" },
  { name: "empty-threads", site: "empty", path: "/threads" },
  { name: "empty-permissions", site: "empty", path: "/permissions" },
  { name: "damaged-list", site: "odd", path: "/threads" },
  { name: "damaged-thread", site: "odd", path: "/threads/ledger" },
  { name: "damaged-request", site: "odd", path: "/inbox" },
  {
    name: "drift",
    site: "odd",
    path: "/threads/drifting",
    act: async (page) => {
      await button(page, /^Continue/).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  { name: "hostile-card", site: "odd", path: async ({ odd }) => `/inbox/${await requestOf(odd, "hostile")}` },
  { name: "hostile-thread", site: "odd", path: "/threads/hostile" },
  {
    name: "terminated",
    site: "odd",
    path: "/threads/drifting",
    prepare: ({ odd }) => post(odd, "/threads/drifting/terminate", {}),
  },
  // From here on the tour is changed.
  {
    name: "card-decided",
    site: "full",
    path: async () => `/inbox/${encodeURIComponent(decidedId)}?show=decided`,
    prepare: async ({ full }) => {
      decidedId = await requestOf(full, "refund-b");
      await post(
        full,
        `/requests/${decidedId}/answer`,
        {
          type: "approve",
          args: { order: "B", euros: 90, reason: "returned within 30 days" },
          note: "only the jacket",
        },
        "ben",
      );
    },
  },
  { name: "thread-edited", site: "full", path: "/threads/refund-b" },
  {
    name: "card-withdrawn",
    site: "full",
    path: async () => `/inbox/${encodeURIComponent(decidedId)}`,
    prepare: async ({ full }) => {
      decidedId = await requestOf(full, "room");
      await post(full, "/threads/room/interrupt", { reason: "the meeting is off" }, "ben");
    },
  },
  {
    name: "card-unknown",
    site: "full",
    path: card("import"),
    prepare: async ({ full }) => {
      await post(full, "/threads/import/resume", {});
      while ((await full.demo.runner.look("import"))?.state === "running") await new Promise((r) => setTimeout(r, 20));
    },
  },
  { name: "thread-unknown", site: "full", path: "/threads/import" },
  {
    name: "thread-resumed",
    site: "full",
    path: "/threads/plan-4",
    prepare: async (sites) => {
      await streams("plan-4")(sites);
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      await post(sites.full, "/threads/plan-4/interrupt", { reason: "too long" }, "ben");
      await post(sites.full, "/threads/plan-4/resume", { input: "Only the two days, please." }, "ben");
    },
  },
  { name: "timeline-segments", site: "full", path: "/threads/plan-4/timeline" },
  {
    name: "thread-forked",
    site: "full",
    path: "/threads/zugspitze-2",
    prepare: async ({ full }) => {
      const { items } = (await (await fetch(`${full.url}/v1/threads/zugspitze/history`)).json()) as {
        items: { seq: number }[];
      };
      await post(full, "/threads/zugspitze/fork", { at: items[Math.floor(items.length / 2)]!.seq, as: "zugspitze-2" });
    },
  },
  { name: "inbox-decided", site: "full", path: "/inbox?show=decided" },
  { name: "threads-after", site: "full", path: "/threads?show=paused" },
];

let decidedId = "";
