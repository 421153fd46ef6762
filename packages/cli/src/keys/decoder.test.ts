import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Key, KeyDecoder } from "./decoder.ts";
import { escapeWait } from "./escape-wait.ts";

const ESC = "\u001b";

/** The keys of these pieces, written short: a name, or the text in quotes. */
function keysOf(...pieces: readonly (string | Buffer)[]): string[] {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name, text }) => keys.push(text === undefined ? name : `${name}:${text}`));
  for (const piece of pieces) decoder.feed(piece);
  decoder.flush();
  return joined(keys);
}

/** Typed text may come out in as many pieces as it went in. */
function joined(keys: readonly string[]): string[] {
  const all: string[] = [];
  for (const key of keys) {
    const last = all.at(-1);
    if (key.startsWith("text:") && last?.startsWith("text:")) all[all.length - 1] = last + key.slice(5);
    else all.push(key);
  }
  return all;
}

/** Bytes, and the keys that they are. */
const known: readonly (readonly [bytes: string, ...keys: string[]])[] = [
  ["a", "text:a"],
  ["ropes 岩登り 🧗‍♀️", "text:ropes 岩登り 🧗‍♀️"],
  ["\r", "enter"],
  ["\n", "newline"],
  ["\t", "tab"],
  ["\u007f", "backspace"],
  ["\u0003", "ctrl-c"],
  ["\u0000"],
  [`${ESC}[A`, "up"],
  [`${ESC}OB`, "down"],
  [`${ESC}[1;3A`, "alt-up"],
  [`${ESC}${ESC}[A`, "alt-up"],
  [`${ESC}[1;5C`, "ctrl-right"],
  [`${ESC}[3~`, "delete"],
  [`${ESC}[H`, "home"],
  [`${ESC}[Z`, "back-tab"],
  [`${ESC}\r`, "alt-enter"],
  [`${ESC}b`, "alt-b"],
  [`${ESC}${ESC}b`, "escape", "alt-b"],
  [`${ESC}\u007f`, "alt-backspace"],
  [`${ESC}[13;2u`, "newline"],
  [`${ESC}[27u`, "escape"],
  [`${ESC}[99;5u`, "ctrl-c"],
  [`${ESC}[99;69u`, "ctrl-c"],
  [`${ESC}[9;2u`, "back-tab"],
  [`${ESC}[91;5u`, "escape"],
  [`${ESC}[106;5u`, "newline"],
  [`${ESC}[98;3u`, "alt-b"],
  [`${ESC}[27;3;13~`, "alt-enter"],
  [`${ESC}[I`, "focus-in"],
  [`${ESC}[O`, "focus-out"],
  [`${ESC}${ESC}[O`, "escape", "focus-out"],
  [`${ESC}[24;80R`],
  [`${ESC}[999;999Z`, "back-tab"],
  [`${ESC}]11;rgb:0000/0000/0000\u0007`, "report:]11;rgb:0000/0000/0000"],
  [`${ESC}]0;title${ESC}\\`, "report:]0;title"],
  [`${ESC}P1$r0m${ESC}\\`, "report:P1$r0m"],
  [`${ESC}[200~two\r\nlines${ESC}[201~`, "paste:two\nlines"],
  [`${ESC}[200~an ${ESC} and ${ESC}[A and \u0003 inside${ESC}[201~`, `paste:an ${ESC} and ${ESC}[A and \u0003 inside`],
  [`${ESC}[200~${ESC}[201~`],
];

test.each(known)("%j is the same key, whole, byte by byte, and cut at every place", (bytes, ...keys) => {
  const buffer = Buffer.from(bytes);
  expect(keysOf(bytes)).toEqual(keys);
  expect(keysOf(...Array.from(buffer, (byte) => Buffer.from([byte])))).toEqual(keys);
  for (let cut = 1; cut < buffer.length; cut += 1) {
    expect(keysOf(buffer.subarray(0, cut), buffer.subarray(cut)), `cut at ${cut}`).toEqual(keys);
  }
});

test("any keys after one another, split anywhere, are those keys", () => {
  // If more bytes follow a lone ESC in the same moment, they are one key: no sequence here ends in one.
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...known), { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(1000), { maxLength: 6 }),
      (parts, places) => {
        const buffer = Buffer.from(parts.map(([bytes]) => bytes).join(""));
        const cuts = [...new Set(places.map((place) => place % (buffer.length + 1)))].sort((a, b) => a - b);
        const pieces = [...cuts, buffer.length].map((end, i) => buffer.subarray(i === 0 ? 0 : cuts[i - 1]!, end));
        expect(keysOf(...pieces)).toEqual(joined(parts.flatMap(([, ...keys]) => keys)));
      },
    ),
    { numRuns: 1000 },
  );
});

test("whatever bytes come, nothing breaks, and nothing is left waiting after a flush", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), (pieces) => {
      const after: Key[] = [];
      const decoder = new KeyDecoder((key) => after.push(key));
      for (const piece of pieces) decoder.feed(Buffer.from(piece));
      decoder.flush();
      after.length = 0;
      decoder.feed("\u0000");
      decoder.feed("z");
      decoder.stop();
      expect(after.at(-1)).toMatchObject({ name: "text" });
    }),
  );
});

test("ESC alone is the key, ESC ESC is two, ESC ESC ESC is three", () => {
  expect(keysOf(ESC)).toEqual(["escape"]);
  expect(keysOf(ESC + ESC)).toEqual(["escape", "escape"]);
  expect(keysOf(ESC, ESC, ESC)).toEqual(["escape", "escape", "escape"]);
});

test("a lone ESC becomes the key after a moment; the beginning of an arrow key never does", async () => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name }) => keys.push(name));
  decoder.feed(ESC);
  expect(keys).toEqual([]);
  await expect.poll(() => keys).toEqual(["escape"]);
  decoder.feed(`${ESC}[`);
  await sleep(100);
  decoder.feed("A");
  expect(keys).toEqual(["escape", "up"]);
  decoder.stop();
});

test.each([5, 50, 200])("TS4: an arrow key split by %d ms is never typed", async (ms) => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name, text }) => keys.push(text ?? name));
  decoder.feed(ESC);
  await sleep(ms);
  decoder.feed("[A");
  await sleep(100);
  decoder.feed("[");
  decoder.feed("A");
  // After 200 ms its ESC was a key: nothing says at that time that it is no stop.
  expect(keys).toEqual([ms < 60 ? "up" : "escape", "[", "A"]);
});

test("TS4: under SSH an arrow key split by 200 ms is the arrow key", async () => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name }) => keys.push(name), escapeWait({ SSH_TTY: "/dev/pts/1" }));
  decoder.feed(ESC);
  await sleep(200);
  decoder.feed("[A");
  expect(keys).toEqual(["up"]);
  decoder.feed(ESC);
  await expect.poll(() => keys).toEqual(["up", "escape"]);
});

test("TS4: with the kitty protocol a lone ESC byte is never the key, and the ESC key is one at once", async () => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name, text }) => keys.push(text ?? name));
  decoder.feed(`${ESC}[?1u`);
  decoder.feed(ESC);
  await sleep(200);
  decoder.feed("[A");
  decoder.feed(`${ESC}[27u`);
  expect(keys).toEqual(["up", "escape"]);
  // A terminal that turns it off says so as well.
  decoder.feed(`${ESC}[?0u`);
  decoder.feed(ESC);
  await expect.poll(() => keys).toEqual(["up", "escape", "escape"]);
});

test.each([
  ["a byte", ESC],
  ["a sequence", `${ESC}[27u`],
])("TS5: ESC as %s in a paste whose end was lost ends the paste and stops", async (_, bytes) => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name, text }) => keys.push(text === undefined ? name : `${name}:${text}`));
  decoder.feed(`${ESC}[200~half a paste`);
  await sleep(20);
  decoder.feed(bytes);
  const pressed = performance.now();
  await expect.poll(() => keys, { timeout: 3_000 }).toEqual(["paste:half a paste", "escape"]);
  expect(performance.now() - pressed).toBeLessThan(2_000);
  decoder.feed("x");
  expect(keys.at(-1)).toBe("text:x");
});

test("TS5: an ESC inside a paste that continues is text", async () => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name, text }) => keys.push(text === undefined ? name : `${name}:${text}`));
  decoder.feed(`${ESC}[200~a${ESC}`);
  await sleep(200);
  decoder.feed(`b${ESC}`);
  decoder.feed(`[201~`);
  expect(keys).toEqual([`paste:a${ESC}b`]);
});

test("on a line that is said to be slow, the rest of a sequence may be as late as its second byte", async () => {
  const keys: string[] = [];
  const decoder = new KeyDecoder(({ name }) => keys.push(name), { escapeMs: 60_000 });
  decoder.feed(`${ESC}[`);
  await sleep(700);
  decoder.feed("A");
  expect(keys).toEqual(["up"]);
  decoder.stop();
});

test("a paste of megabytes in small pieces is one paste", () => {
  const text = "0123456789".repeat(300_000);
  const bytes = `${ESC}[200~${text}${ESC}[201~`;
  const pieces = Array.from({ length: Math.ceil(bytes.length / 4096) }, (_, i) =>
    bytes.slice(i * 4096, (i + 1) * 4096),
  );
  expect(keysOf(...pieces)).toEqual([`paste:${text}`]);
});
