// @vitest-environment happy-dom
import { render } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import { JsonLine } from "./json.tsx";
import { SeenText } from "./seen-text.tsx";

const html = (element: React.ReactElement) => render(element).container;

describe("text that a machine will act on", () => {
  test.each([
    ["right-to-left override", "pay\u202Eevil", "payU+202Eevil"],
    ["zero-width space", "a\u200Bb", "aU+200Bb"],
    ["bell", "a\u0007b", "aU+0007b"],
    ["tag letter", "a\u{E0041}b", "aU+E0041b"],
    ["soft hyphen", "a\u00ADb", "aU+00ADb"],
    ["line break and tab, which are seen", "a\n\tb", "a\n\tb"],
    ["other scripts", "é 你好 שלום", "é 你好 שלום"],
  ])("shows a %s by its code", (_, text, shown) => {
    expect(html(<SeenText text={text} />).textContent).toBe(shown);
  });

  test("is never HTML", () => {
    const container = html(<SeenText text={'<img src=x onerror="1">'} />);
    expect([container.querySelector("img"), container.textContent]).toEqual([null, '<img src=x onerror="1">']);
  });

  test("of a megabyte is cut until all of it is asked for", () => {
    const container = html(<SeenText text={"x".repeat(1_000_000)} />);
    expect(container.textContent!.length).toBeLessThan(5_000);
    expect(container.querySelector("button")!.textContent).toBe("show all 1,000,000 characters");
  });

  test("in arguments shows the value that the model asked for beside the one that ran", () => {
    const container = html(<JsonLine value={{ order: "B", euros: 900 }} ran={{ order: "B", euros: 90 }} />);
    expect(container.textContent).toBe('{ order: "B", euros: 900 90 }');
    expect(container.querySelector(".was")!.textContent).toBe("900");
  });
});
