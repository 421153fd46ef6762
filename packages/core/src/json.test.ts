import fc from "fast-check";
import { expect, it } from "vitest";
import { bytesOver, type Json, Room, toJson } from "./json.ts";

const values = fc.jsonValue() as fc.Arbitrary<Json>;
const texts = fc.string({ unit: "binary" });
const bytesOf = (value: Json) => Buffer.byteLength(JSON.stringify(value));

it("P12: what takes one byte more than there may be is refused, and nothing that takes less", () => {
  fc.assert(
    fc.property(fc.oneof(values, texts, fc.array(texts)), (value) => {
      const bytes = bytesOf(value);
      expect([bytesOver(value, bytes), bytesOver(value, bytes - 1)]).toEqual([undefined, bytes]);
    }),
  );
});

it("P12: values that come one after the other take what the list of them takes", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(values, texts), { minLength: 1 }), (list) => {
      const bytes = bytesOf(list);
      for (const most of [bytes, bytes - 1]) {
        const room = new Room(most);
        expect(list.map((value) => room.take(value)).at(-1)).toBe(most === bytes);
        expect(room.bytes).toBe(bytes);
      }
    }),
  );
});

it("P12: what is longer than any text can be is too large, and no error of another kind", () => {
  expect(() => toJson("\u0001".repeat(2 ** 27), "It", 1000)).toThrow(expect.objectContaining({ code: "TOO_LARGE" }));
});
