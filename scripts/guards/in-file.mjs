/**
 * @typedef {{ name: string, file: string, guard: string, instead: string, tests: string[] }} Guard
 */

export const runner = "packages/core/src/runner";

/**
 * Makes the guards of one file.
 * @param {string} file
 * @param {string[]} tests
 * @param {Record<string, [guard: string, instead: string]>} byName
 * @returns {Guard[]}
 */
export const inFile = (file, tests, byName) =>
  Object.entries(byName).map(([name, [guard, instead]]) => ({
    name: `${file.split("/").slice(-2).join("/")}: ${name}`,
    file,
    guard,
    instead,
    tests,
  }));
