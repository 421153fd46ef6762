import { tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { problem } from "../problem.ts";
import { approvalUnlessAllowed } from "./approval.ts";
import { htmlToText } from "./html-to-text.ts";
import { object, text } from "./schema.ts";
import { getPage, type Page, type PageOptions } from "./ssrf.ts";

const MOST_CHARS = 60_000;

export function fetchTool(judge: Judge, options: Omit<PageOptions, "signal"> = { allow: allowedPlaces() }) {
  return tool({
    name: "fetch",
    description: "Gets a page of the public web as text. A redirect to another host is told and not followed.",
    input: object<{ url: string }>({ url: text("With https:// or http://.", { minLength: 1, maxLength: 4_000 }) }),
    // It changes nothing here; but its request can carry data to the other side, so it is not read-only.
    onCrash: "retry",
    needsApproval: (args) =>
      approvalUnlessAllowed(judge, "fetch", args, () => ({ reason: `Fetch ${args.url}?`, context: { url: args.url } })),
    async execute({ url }, ctx) {
      const page = await getPage(url, { ...options, signal: ctx.signal });
      if (page.elsewhere !== undefined) {
        return `[${page.url} leads to ${page.elsewhere}, another host; fetch that to go there]`;
      }
      const shown = textOf(page);
      const cut = page.cut || shown.length > MOST_CHARS ? "\n[it goes on; the rest was left out]" : "";
      const head = page.status >= 400 ? `[status ${page.status}]\n` : "";
      return `${head}${shown.slice(0, MOST_CHARS).toWellFormed()}${cut}`;
    },
  });
}

function textOf({ url, type, body }: Page): string {
  const [media = "", ...parameters] = type.toLowerCase().split(";");
  const kind = media.trim();
  if (kind !== "" && !/^text\/|[/+](?:json|xml|javascript|x-yaml|yaml|toml)$/.test(kind)) {
    throw problem("FETCH_FAILED", { url, reason: `it is ${kind}, which is not text` });
  }
  const charset = parameters
    .map((each) => /charset\s*=\s*"?([^"\s]+)/.exec(each)?.[1])
    .find((each) => each !== undefined);
  const text = decoder(charset).decode(body);
  return kind === "text/html" || kind === "application/xhtml+xml" ? htmlToText(text) : text;
}

function decoder(charset: string | undefined): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset ?? "utf-8");
  } catch {
    return new TextDecoder();
  }
}

/** BELAY_FETCH_ALLOW="localhost:3000, 127.0.0.1:8080": private addresses that may be fetched all the same. */
function allowedPlaces(): readonly string[] {
  return (process.env.BELAY_FETCH_ALLOW ?? "").split(/[\s,]+/).filter((place) => place !== "");
}
