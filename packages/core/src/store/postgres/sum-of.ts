// The sum of a thread's row, as an expression of the database's. rows.ts makes the same.

const COLUMNS = [
  "num",
  "name",
  "tenant_name",
  "tenant",
  "id",
  "agent",
  "state",
  "head",
  "fence",
  "owner",
  "until",
  "append_id",
  "hash",
  "base",
  "root",
  "open",
  "queued",
  "answers",
  "rest_from",
  "rest_due",
  "parent",
  "parent_id",
  "parent_seq",
  "created_at",
  "updated_at",
] as const;

type Column = (typeof COLUMNS)[number];

const BYTES: ReadonlySet<string> = new Set<Column>(["name", "tenant_name", "hash", "base", "root"]);
const TEXTS_OR_NONE: ReadonlySet<string> = new Set<Column>(["owner", "parent_id"]);
const NUMBERS_OR_NONE: ReadonlySet<string> = new Set<Column>(["rest_from", "rest_due", "parent", "parent_seq"]);

/** Returns the SQL for the checksum of the row `of`, with some columns as they will be. */
export function sumOf(of: string, next: Partial<Record<Column, string>> = {}): string {
  const pieces = COLUMNS.map((column) => {
    const value = next[column] ?? `${of}.${column}`;
    if (BYTES.has(column)) return `encode(${value}, 'hex')`;
    if (TEXTS_OR_NONE.has(column)) return `coalesce('+' || ${value}, '-')`;
    return NUMBERS_OR_NONE.has(column) ? `coalesce(${value}::text, '-')` : value;
  });
  return `substr(sha256(convert_to(concat_ws(E'\\n', ${pieces.join(", ")}), 'UTF8')), 1, 8)`;
}
