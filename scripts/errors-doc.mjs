// docs/errors.md is the catalogue of packages/core/src/error.ts, printed.

/** A message shows the name of each value in its place: "Thread <threadId> is running (run <runId>)." */
const placeholders = new Proxy({}, { get: (_, name) => `<${String(name)}>` });

/** @param {Record<string, { message: (values: any) => string, hint: string, when?: string }>} catalogue */
export function errorsDoc(catalogue) {
  const sections = Object.keys(catalogue)
    .sort()
    .map((code) => {
      const { when, message, hint } = catalogue[code];
      return [`## ${code}`, when, `\`\`\`text\n${message(placeholders)}\n\`\`\``, `What to do: ${hint}`].filter(
        Boolean,
      );
    });
  const opening = [
    "# Errors",
    "Every error is a `BelayError`: `code` is for programs, `message` carries the values, `hint` says what to do.",
    "This page is printed from `packages/core/src/error.ts` by `npm run docs`.",
  ];
  return `${[...opening, ...sections.flat()].join("\n\n")}\n`;
}
