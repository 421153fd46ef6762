// Requests: their keys.

import { afterEach, expect, test, vi } from "vitest";
import { connect } from "./index.ts";

afterEach(() => void vi.unstubAllGlobals());

test("a page without TLS sends each write under a key of its own", async () => {
  // Browsers keep randomUUID from pages of plain http that are not on loopback.
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  const keys: (string | null)[] = [];
  const fetching: typeof fetch = async (_, init) => {
    keys.push(new Headers(init?.headers).get("idempotency-key"));
    return Response.json({ id: "i", accepted: true });
  };
  const thread = connect({ url: "http://192.168.0.7:4180", fetch: fetching }).open("t");
  await thread.steer("a");
  await thread.steer("b");
  await thread.interrupt();
  expect(new Set(keys).size).toBe(3);
  for (const key of keys) expect(key).toMatch(/^[\w-]{8,}$/);
});
