// The rules of a database. They are few: whatever changes them reads and checks all of the tenant's first.

import { belayError } from "../../error.ts";
import type { RuleRow } from "../store.ts";
import { fromText, toText } from "./database.ts";
import { type RuleTableRow, ruleCrc } from "./rows.ts";
import type { Statements } from "./statements.ts";

export function allRules(sql: Statements, tenant: string): readonly RuleRow[] {
  return checkedRules(sql, toText(tenant)).map(({ id, at, body }) => ({ id: fromText(id), at, body: fromText(body) }));
}

/** `tenant` as it is in the database. */
export function addRules(sql: Statements, tenant: string, rules: readonly RuleRow[]): void {
  const known = new Set(checkedRules(sql, tenant).map(({ id }) => id));
  for (const { id: given, at, body: text } of rules) {
    const [id, body] = [toText(given), toText(text)];
    if (known.has(id)) continue;
    known.add(id);
    const { num } = sql.nextRule.get() as { num: number };
    sql.addRule.run(num, tenant, id, at, body, ruleCrc({ num, tenant, id, at, body }));
  }
}

export function dropRule(sql: Statements, tenant: string, id: string): boolean {
  const found = checkedRules(sql, toText(tenant)).find((rule) => rule.id === toText(id));
  if (found !== undefined) sql.dropRule.run(found.num);
  return found !== undefined;
}

function checkedRules(sql: Statements, tenant: string): readonly RuleTableRow[] {
  const [count, ...rows] = sql.rules.all(tenant) as unknown as RuleTableRow[];
  if (count?.num !== rows.length) throw belayError("STORE_CORRUPT", { problem: "two indexes know different rules" });
  let last = 0;
  for (const row of rows) {
    if (row.num <= last || row.tenant !== tenant || row.crc !== ruleCrc(row))
      throw belayError("STORE_CORRUPT", { problem: `rule ${row.id} does not fit its checksum` });
    last = row.num;
  }
  return rows;
}
