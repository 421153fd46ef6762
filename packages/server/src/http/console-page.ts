// The pages of the console: one HTML page for every address below the base, and its scripts and styles. They are loaded
// with the first request for a page, so that a server without visitors never holds them.

import { ServerError } from "../problem.ts";

/** Returns the page or one of its assets. `path` begins with a slash; `base` begins and ends with one. */
export async function consolePage(request: Request, path: string, base: string): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw new ServerError("ROUTE_UNKNOWN", `There is no route ${request.method} ${path}.`);
  }
  const { page, assets } = await import("../console-assets.js");
  const name = path.slice(1);
  if (!name.startsWith("assets/")) {
    const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    return new Response(page.replaceAll("__BASE__", base), { headers });
  }
  const asset = Object.hasOwn(assets, name) ? assets[name]! : undefined;
  if (asset === undefined) throw new ServerError("ROUTE_UNKNOWN", `The console has no file ${name}.`);
  const { type, etag, gzip } = asset;
  // The name has a hash of the content in it.
  const headers = {
    "content-type": type,
    etag,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  const bytes = Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0));
  if (/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(bytes, { headers: { ...headers, "content-encoding": "gzip" } });
  }
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")), { headers });
}
