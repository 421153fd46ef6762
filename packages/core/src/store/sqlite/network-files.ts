// SQLite's locks do not hold on network file systems, and WAL needs shared memory: such a place is refused.

import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { belayError } from "../../error.ts";
import type { DatabaseSync } from "./database.ts";

/** By the number that Linux has for each. Other systems have none that mean the same everywhere. */
const NETWORK: Readonly<Record<number, string>> = {
  26985: "NFS",
  20859: "SMB",
  4283649346: "CIFS",
  4266872130: "SMB2",
  1397113167: "AFS",
  1799439955: "AFS",
  12805120: "Ceph",
  198183888: "Lustre",
  1937076805: "Coda",
};

export type Statfs = (folder: string) => { readonly type: number };

/** Returns the path of the database; empty or undefined if it has none. */
export function fileOf(db: DatabaseSync): string | undefined {
  const rows = db.prepare("PRAGMA database_list").all() as { readonly name: string; readonly file: string }[];
  return rows.find((row) => row.name === "main")?.file;
}

export function refuseNetworkFiles(file: string | undefined, statfs: Statfs = statfsSync): void {
  if (!file) return;
  let type: number;
  try {
    type = statfs(dirname(file)).type;
  } catch {
    return;
  }
  // Where longs are short it comes as a negative number.
  const kind = NETWORK[type >>> 0];
  if (kind !== undefined) throw belayError("STORE_UNSUITABLE", { file, kind });
}
