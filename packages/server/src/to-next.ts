import type { BelayServer } from "./server.ts";

type Handler = (request: Request) => Promise<Response>;

/** Returns the handlers of a Next route: `app/belay/[[...path]]/route.ts`, with `runtime = "nodejs"`. */
export function toNext({
  fetch,
}: Pick<BelayServer, "fetch">): Record<"GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", Handler> {
  const handle: Handler = (request) => fetch(request);
  return { GET: handle, HEAD: handle, POST: handle, PUT: handle, PATCH: handle, DELETE: handle, OPTIONS: handle };
}
