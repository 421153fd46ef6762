// The tables of the first version.
//
// Threads, commands, requests and rules are found by a hash of their names, so that a name may have any length. A thread
// has a number, too, which is never used again: the key that each line repeats is short, and a thread made again
// under an old name is another one. Threads are also found by their ids: a damaged row does not look like none.
//
// `sum` is of the other columns, made as in rows.ts. A line's `hash` is chained to the one before it; `base` is that before
// a thread's first line of its own, `root` that before the first of all. `fork` outlives its thread while other forks
// need its lines. `removal` keeps for a minute the number of each removal: a caller without an answer sends it again.

export function tables(schema: string): string {
  return `
CREATE SEQUENCE ${schema}.fence;
CREATE TABLE ${schema}.thread (
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE, tenant_name bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
  agent text NOT NULL, state text NOT NULL, head bigint NOT NULL, fence bigint NOT NULL, owner text, until bigint NOT NULL,
  append_id text COLLATE "C" NOT NULL, hash bytea NOT NULL, base bytea NOT NULL, root bytea NOT NULL,
  open integer NOT NULL, queued integer NOT NULL, answers integer NOT NULL, rest_from bigint, rest_due bigint,
  parent bigint, parent_id text, parent_seq bigint,
  created_at bigint NOT NULL, updated_at bigint NOT NULL, sum bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX thread_tenant ON ${schema}.thread (tenant_name);
CREATE INDEX thread_id ON ${schema}.thread (md5(id));
CREATE TABLE ${schema}.fork (
  num bigint PRIMARY KEY, parent bigint NOT NULL, seq bigint NOT NULL, base bytea NOT NULL);
CREATE INDEX fork_parent ON ${schema}.fork (parent, seq);
CREATE TABLE ${schema}.entry (
  thread bigint NOT NULL, seq bigint NOT NULL, count integer NOT NULL, at bigint NOT NULL, fence bigint NOT NULL,
  body text, blob bigint, hash bytea NOT NULL, PRIMARY KEY (thread, seq));
CREATE INDEX entry_blob ON ${schema}.entry (blob) WHERE blob IS NOT NULL;
CREATE TABLE ${schema}.blob (
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_name bytea NOT NULL, digest bytea NOT NULL, body text NOT NULL, UNIQUE (tenant_name, digest));
CREATE TABLE ${schema}.snapshot (
  thread bigint PRIMARY KEY, seq bigint NOT NULL, body text NOT NULL, sum bytea NOT NULL);
CREATE TABLE ${schema}.command (
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, thread bigint NOT NULL, name bytea NOT NULL,
  key text NOT NULL, kind text NOT NULL, body text NOT NULL, at bigint NOT NULL, sum bytea NOT NULL,
  sent_by uuid NOT NULL, taken_by uuid, consumed_seq bigint, UNIQUE (thread, name));
CREATE INDEX command_open ON ${schema}.command (thread, num) WHERE consumed_seq IS NULL;
CREATE TABLE ${schema}.request (
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE, tenant_name bytea NOT NULL,
  tenant text NOT NULL, id text NOT NULL, thread bigint NOT NULL, expires_at bigint, body text NOT NULL,
  sum bytea NOT NULL, closed bigint);
CREATE INDEX request_open ON ${schema}.request (tenant_name, num) WHERE closed IS NULL;
CREATE INDEX request_thread ON ${schema}.request (thread);
CREATE TABLE ${schema}.rule (
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE, tenant_name bytea NOT NULL,
  tenant text NOT NULL, id text NOT NULL, at bigint NOT NULL, body text NOT NULL, sum bytea NOT NULL);
CREATE INDEX rule_tenant ON ${schema}.rule (tenant_name, num);
CREATE TABLE ${schema}.removal (by uuid PRIMARY KEY, at bigint NOT NULL);
CREATE INDEX removal_at ON ${schema}.removal (at);
CREATE TABLE ${schema}.version (steps integer NOT NULL);
INSERT INTO ${schema}.version VALUES (0);`;
}
