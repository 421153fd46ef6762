// The pages of the console. They are a generated module, loaded when a browser first asks for a page: programs that use the
// API alone never load it.

import { ServerError } from "./problem.ts";

type Assets = typeof import("./console-assets.js");

let loading: Promise<Assets | undefined> | undefined;

function load(): Promise<Assets | undefined> {
  loading ??= import("./console-assets.js").catch(() => undefined);
  return loading;
}

/** Returns the page, or a file that it needs. `path` has no leading slash. */
export async function pageAt(path: string, basePath: string, request: Request): Promise<Response> {
  const built = await load();
  if (built === undefined) {
    throw new ServerError("ROUTE_UNKNOWN", "This server was built without its pages; the API is below /v1/.");
  }
  const { page, assets } = built;
  const asset = Object.hasOwn(assets, path) ? assets[path] : undefined;
  if (asset !== undefined) return assetResponse(asset, request);
  if (path.startsWith("assets/")) throw new ServerError("ROUTE_UNKNOWN", `There is no file ${path}.`);
  const html = page.replaceAll("__BASE__", basePath === "/" ? "/" : `${basePath}/`);
  return new Response(request.method === "HEAD" ? null : html, {
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
  });
}

function assetResponse({ type, etag, gzip }: Assets["assets"][string], request: Request): Response {
  const headers = { etag, "content-type": type, "cache-control": "public, max-age=31536000, immutable" };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  const bytes = Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0));
  if (/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(bytes, { headers: { ...headers, "content-encoding": "gzip", vary: "accept-encoding" } });
  }
  const plain = new Response(bytes).body!.pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain as unknown as ReadableStream, { headers: { ...headers, vary: "accept-encoding" } });
}
