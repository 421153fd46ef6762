import fc from "fast-check";
import { expect, it } from "vitest";
import { bytesOver, type Json, Room, toJson } from "./json.ts";

const values = fc.jsonValue() as fc.Arbitrary<Json>;
const texts = fc.string({ unit: "binary" });
const bytesOf = (value: Json) => Buffer.byteLength(JSON.stringify(value));

it("P12: a value one byte over the limit is refused, and a value at the limit is not", () => {
  fc.assert(
    fc.property(fc.oneof(values, texts, fc.array(texts)), (value) => {
      const bytes = bytesOf(value);
      expect([bytesOver(value, bytes), bytesOver(value, bytes - 1)]).toEqual([undefined, bytes]);
    }),
  );
});

it("P12: values that arrive one by one take as much room as the list of them", () => {
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

it("P12: JSON longer than a string can be is TOO_LARGE and not another error", () => {
  expect(() => toJson("\u0001".repeat(2 ** 27), "It", 1000)).toThrow(expect.objectContaining({ code: "TOO_LARGE" }));
});
