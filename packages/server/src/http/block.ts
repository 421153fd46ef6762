/** Returns one block of a stream of server-sent events. */
export function block(event: string, data: unknown, id?: number): string {
  const name = /^[\w.-]+$/.test(event) ? event : "unknown";
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
