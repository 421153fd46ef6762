import { expect, test } from "vitest";
import { sentences } from "./sentences.ts";

test("each ends like a sentence, and empty ones are left out", () => {
  expect(sentences("Model m failed: Rate limit reached", "Nothing is lost.")).toBe(
    "Model m failed: Rate limit reached. Nothing is lost.",
  );
  expect(sentences("What?", undefined, " ", "没有了。")).toBe("What? 没有了。");
});
