// The part of node:sqlite's DatabaseSync that we use. @photostructure/sqlite has the same for Node 20.

export { fromText, toText } from "../text.ts";

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = Record<string, SqlValue>;

export interface Statement {
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

export interface DatabaseSync {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** SQLite's primary result code of an error, if it is one. */
export function resultCode(error: unknown): number | undefined {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

export const BUSY = 5;
export const LOCKED = 6;
export const CORRUPT = 11;
export const FULL = 13;
export const NOT_A_DATABASE = 26;
