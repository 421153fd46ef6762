// The addresses of the servers that a test needs. scripts/services.mjs finds or starts them when they are first asked for.

/** The URL of a server that may be written to. */
export async function service(name: "postgres" | "redis"): Promise<string> {
  const named = process.env[`BELAY_TEST_${name.toUpperCase()}`];
  if (named) return named;
  const desk = process.env.BELAY_TEST_SERVICES;
  if (!desk) throw new Error("No servers are provided here: run the test by vitest, from the root of the repository.");
  const response = await fetch(`${desk}/${name}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
