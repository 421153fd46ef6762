// Writes, as functions in the database: one call is one transaction and one round trip. Each change of a thread, its commands or
// its requests first locks or updates the row of the thread.
//
// A changed function gets another name: processes one version back still call theirs.

import { sumOf } from "./sum-of.ts";

/** How long a removal can be answered as it was. */
const REMEMBERED_MS = 60_000;

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export function functions(schema: string): string {
  const now = NOW;
  const s = schema;
  return `
CREATE FUNCTION ${s}.row_sum_1(r ${s}.thread) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN ${sumOf("r")};
END $$;

CREATE FUNCTION ${s}.name_1(tenant text, id text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN substr(sha256(convert_to(tenant, 'UTF8') || '\\x00'::bytea || convert_to(id, 'UTF8')), 1, 16);
END $$;

CREATE FUNCTION ${s}.refuse_misnamed_1(p_name bytea, p_tenant text, p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM ${s}.thread WHERE md5(id) = md5(p_id) AND tenant = p_tenant AND id = p_id AND name <> p_name) THEN
    RAISE EXCEPTION USING ERRCODE = 'BL001', MESSAGE = 'two indexes know different threads';
  END IF;
END $$;

-- The row of a thread, locked; none where there is none. What does not fit its sum is refused.
CREATE FUNCTION ${s}.locked_1(p_name bytea, p_tenant text, p_id text) RETURNS ${s}.thread LANGUAGE plpgsql AS $$
DECLARE r ${s}.thread;
BEGIN
  SELECT * INTO r FROM ${s}.thread WHERE name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM ${s}.refuse_misnamed_1(p_name, p_tenant, p_id);
    RETURN NULL;
  END IF;
  IF r.sum <> ${s}.row_sum_1(r) OR r.tenant <> p_tenant OR r.id <> p_id THEN
    RAISE EXCEPTION USING ERRCODE = 'BL001', MESSAGE = 'its row does not fit its checksum';
  END IF;
  RETURN r;
END $$;

-- Writes what commands, a lease and nothing else change.
CREATE FUNCTION ${s}.save_1(r ${s}.thread) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE ${s}.thread SET owner = r.owner, until = r.until, open = r.open, queued = r.queued, answers = r.answers,
    sum = ${s}.row_sum_1(r) WHERE num = r.num;
END $$;

-- The thread that a fork is to be, not yet in its table: it goes on after the line of the other that ends at p_seq.
CREATE FUNCTION ${s}.forked_1(r ${s}.thread, p_seq bigint) RETURNS ${s}.thread LANGUAGE plpgsql AS $$
DECLARE
  other ${s}.thread;
  line ${s}.entry;
  up ${s}.fork;
BEGIN
  -- Its lines stay while we hold it, and after that because of us. Of its row, which may be damaged, only its number counts.
  SELECT * INTO other FROM ${s}.thread WHERE name = ${s}.name_1(r.tenant, r.parent_id) FOR SHARE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  r.parent_seq := p_seq;
  IF p_seq = 0 THEN RETURN r; END IF;
  r.parent := other.num;
  SELECT * INTO up FROM ${s}.fork WHERE num = r.parent;
  r.root := CASE WHEN FOUND THEN other.root ELSE other.name END;
  WHILE p_seq <= up.seq LOOP
    r.parent := up.parent;
    SELECT * INTO up FROM ${s}.fork WHERE num = r.parent;
  END LOOP;
  SELECT * INTO line FROM ${s}.entry WHERE thread = r.parent AND seq <= p_seq ORDER BY seq DESC LIMIT 1;
  IF NOT FOUND OR line.seq + line.count - 1 <> p_seq THEN RETURN NULL; END IF;
  r.head := p_seq;
  r.base := line.hash;
  RETURN r;
END $$;

${append(s, "append_1")}

CREATE FUNCTION ${s}.renew_1(p_name bytea, p_tenant text, p_id text, p_fence bigint, p_ttl bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE r ${s}.thread := ${s}.locked_1(p_name, p_tenant, p_id);
BEGIN
  IF r.num IS NULL OR r.fence <> p_fence OR r.owner IS NULL THEN RETURN false; END IF;
  r.until := ${now} + p_ttl;
  PERFORM ${s}.save_1(r);
  RETURN true;
END $$;

CREATE FUNCTION ${s}.release_1(p_name bytea, p_tenant text, p_id text, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r ${s}.thread := ${s}.locked_1(p_name, p_tenant, p_id);
BEGIN
  IF r.num IS NULL OR r.fence <> p_fence OR r.owner IS NULL THEN RETURN; END IF;
  r.owner := NULL;
  PERFORM ${s}.save_1(r);
END $$;

-- NULL where there is no such thread. p_by is the same when a call is tried again: then it is answered as it was.
CREATE FUNCTION ${s}.send_1(p_name bytea, p_tenant text, p_id text, p_key text, p_kind text, p_body text, p_at bigint,
  p_sum bytea, p_by uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r ${s}.thread := ${s}.locked_1(p_name, p_tenant, p_id);
  before uuid;
BEGIN
  IF r.num IS NULL THEN RETURN NULL; END IF;
  SELECT sent_by INTO before FROM ${s}.command WHERE thread = r.num AND name = ${s}.name_1('', p_key);
  IF FOUND THEN RETURN before = p_by; END IF;
  INSERT INTO ${s}.command (thread, name, key, kind, body, at, sum, sent_by)
    VALUES (r.num, ${s}.name_1('', p_key), p_key, p_kind, p_body, p_at, p_sum, p_by);
  r.open := r.open + 1;
  IF p_kind = 'input' THEN r.queued := r.queued + 1; END IF;
  IF p_kind = 'answer' THEN r.answers := r.answers + 1; END IF;
  PERFORM ${s}.save_1(r);
  RETURN true;
END $$;

CREATE FUNCTION ${s}.withdraw_1(p_name bytea, p_tenant text, p_id text, p_key text, p_by uuid)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r ${s}.thread := ${s}.locked_1(p_name, p_tenant, p_id);
  c ${s}.command;
BEGIN
  SELECT * INTO c FROM ${s}.command WHERE thread = r.num AND name = ${s}.name_1('', p_key);
  IF NOT FOUND THEN RETURN false; END IF;
  IF c.taken_by = p_by THEN RETURN true; END IF;
  IF c.consumed_seq IS NOT NULL OR c.kind NOT IN ('input', 'steer') THEN RETURN false; END IF;
  UPDATE ${s}.command SET consumed_seq = 0, body = '', taken_by = p_by WHERE num = c.num;
  r.open := r.open - 1;
  IF c.kind = 'input' THEN r.queued := r.queued - 1; END IF;
  PERFORM ${s}.save_1(r);
  RETURN true;
END $$;

-- Removes the lines of a thread that is gone, down to those that forks need; then those of its parents that only it needed.
CREATE FUNCTION ${s}.drop_lines_1(p_num bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint := p_num;
  keeps bigint;
  up ${s}.fork;
  blobs bigint[];
BEGIN
  LOOP
    -- Of two forks that go at once the second sees that the first is gone. Always from a fork to its parent: no ring.
    PERFORM pg_advisory_xact_lock('${s.replaceAll("'", "''")}.fork'::regclass::oid::integer, (v_at % 2147483647)::integer);
    SELECT max(seq) INTO keeps FROM ${s}.fork WHERE parent = v_at;
    WITH gone AS (DELETE FROM ${s}.entry WHERE thread = v_at AND seq > coalesce(keeps, 0) RETURNING entry.blob)
      SELECT array_agg(DISTINCT gone.blob) INTO blobs FROM gone WHERE gone.blob IS NOT NULL;
    IF blobs IS NOT NULL THEN
      PERFORM FROM ${s}.blob WHERE num = ANY (blobs) ORDER BY num FOR UPDATE;
      DELETE FROM ${s}.blob b WHERE b.num = ANY (blobs) AND NOT EXISTS (SELECT FROM ${s}.entry e WHERE e.blob = b.num);
    END IF;
    EXIT WHEN keeps IS NOT NULL;
    DELETE FROM ${s}.fork WHERE num = v_at RETURNING * INTO up;
    EXIT WHEN NOT FOUND OR EXISTS (SELECT FROM ${s}.thread WHERE num = up.parent);
    v_at := up.parent;
  END LOOP;
END $$;

CREATE FUNCTION ${s}.removed_1(p_by uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM ${s}.removal WHERE at < ${now} - ${REMEMBERED_MS};
  INSERT INTO ${s}.removal VALUES (p_by, ${now});
END $$;

CREATE FUNCTION ${s}.remove_rule_1(p_name bytea, p_by uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM ${s}.rule WHERE name = p_name;
  IF NOT FOUND THEN RETURN EXISTS (SELECT FROM ${s}.removal WHERE by = p_by); END IF;
  PERFORM ${s}.removed_1(p_by);
  RETURN true;
END $$;

-- With p_head only where that is its head, nobody holds it and neither an input nor an answer waits. Of a row that does
-- not fit its sum nothing is believed.
CREATE FUNCTION ${s}.delete_1(p_name bytea, p_tenant text, p_id text, p_head bigint, p_by uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE r ${s}.thread;
BEGIN
  IF EXISTS (SELECT FROM ${s}.removal WHERE by = p_by) THEN RETURN true; END IF;
  IF p_head IS NOT NULL THEN
    r := ${s}.locked_1(p_name, p_tenant, p_id);
    IF r.head <> p_head OR (r.owner IS NOT NULL AND r.until > ${now}) OR r.queued > 0 OR r.answers > 0 THEN RETURN false; END IF;
  ELSE
    SELECT * INTO r FROM ${s}.thread
      WHERE name = p_name OR (md5(id) = md5(p_id) AND tenant = p_tenant AND id = p_id) ORDER BY name <> p_name LIMIT 1 FOR UPDATE;
  END IF;
  -- An earlier try of this call may have come first.
  IF r.num IS NULL THEN RETURN EXISTS (SELECT FROM ${s}.removal WHERE by = p_by); END IF;
  DELETE FROM ${s}.thread WHERE num = r.num;
  DELETE FROM ${s}.snapshot WHERE thread = r.num;
  DELETE FROM ${s}.command WHERE thread = r.num;
  DELETE FROM ${s}.request WHERE thread = r.num;
  PERFORM ${s}.drop_lines_1(r.num);
  PERFORM ${s}.removed_1(p_by);
  RETURN true;
END $$;`;
}

// The additions of appends with lists to those of the first version. The trigger of listing.ts keeps the rest of a list in shape.

const standing = `
    IF p_more ? 'listed' THEN
      r.pause := p_more #>> '{listed,0}';
      r.run := p_more #>> '{listed,1}';
    ELSIF r.pause IS DISTINCT FROM '?' THEN
      r.pause := CASE WHEN p_state = 'paused' THEN coalesce(r.pause, '?') END;
    END IF;`;

const naming = (s: string) => `IF p_more ? 'named' THEN
      UPDATE ${s}.listing SET title = p_more #>> '{named,title}', labels = p_more #>> '{named,labels}' WHERE thread = r.num;
      UPDATE ${s}.listing AS l SET sum = ${s}.list_sum_1(l) WHERE thread = r.num;
      DELETE FROM ${s}.label WHERE thread = r.num;
      INSERT INTO ${s}.label (thread, pair, tenant_name, at)
        SELECT r.num, decode(pair, 'hex'), p_tenant_name, r.updated_at FROM jsonb_array_elements_text(p_more #> '{named,pairs}') AS pair;
      DELETE FROM ${s}.word WHERE thread = r.num;
      INSERT INTO ${s}.word (tenant_name, word, thread)
        SELECT p_tenant_name, word, r.num FROM jsonb_array_elements_text(p_more #> '{named,words}') AS word;
    END IF;
    FOR item IN SELECT * FROM jsonb_array_elements(p_more -> 'amend') LOOP
      UPDATE ${s}.request SET body = item ->> 1, sum = decode(item ->> 2, 'hex')
        WHERE name = ${s}.name_1(p_tenant, item ->> 0) AND thread = r.num AND closed IS NULL;
    END LOOP;`;

/** Returns the function that appends, under a name: that of the first version, or one with `lists`. */
export function append(s: string, name: string, lists = false): string {
  const now = NOW;
  return `
-- p_more holds what most appends do not have. Returns the outcome as JSON.
CREATE FUNCTION ${s}.${name}(
  p_name bytea, p_tenant_name bytea, p_tenant text, p_id text, p_append_id text, p_expect bigint, p_count integer,
  p_at bigint, p_body text, p_digest bytea, p_apart boolean, p_take text, p_fence bigint, p_ttl bigint,
  p_release boolean, p_agent text, p_state text, p_rest_from bigint, p_rest_due bigint,
  p_snapshot text, p_snapshot_sum bytea, p_consume text[], p_more jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  r ${s}.thread;
  fresh ${s}.thread;
  now bigint;
  blob bigint;
  missing text[];
  before bytea;
  is_new boolean;
  item jsonb;
BEGIN
  -- Read without a lock, and written only over the row that was read: a lock is a write more.
  LOOP
    SELECT * INTO r FROM ${s}.thread WHERE name = p_name;
    is_new := NOT FOUND;
    IF is_new THEN
      PERFORM ${s}.refuse_misnamed_1(p_name, p_tenant, p_id);
      fresh.tenant := p_tenant;
      fresh.head := 0;
      fresh.base := p_name;
      fresh.root := p_name;
      IF p_more ? 'parent' THEN
        fresh.parent_id := p_more #>> '{parent,0}';
        fresh := ${s}.forked_1(fresh, (p_more #>> '{parent,1}')::bigint);
        IF fresh.head IS NULL THEN RETURN '{"ok":false,"why":"orphan"}'; END IF;
      END IF;
      IF p_take IS NULL THEN RETURN '{"ok":false,"why":"fenced"}'; END IF;
      IF p_expect <> fresh.head THEN RETURN json_build_object('ok', false, 'why', 'conflict', 'head', fresh.head)::text; END IF;
      IF p_consume IS NOT NULL THEN RETURN json_build_object('ok', false, 'why', 'gone', 'keys', p_consume)::text; END IF;
      INSERT INTO ${s}.thread (name, tenant_name, tenant, id, agent, state, head, fence, until, append_id, hash, base,
          root, open, queued, answers, parent, parent_id, parent_seq, created_at, updated_at, sum)
        VALUES (p_name, p_tenant_name, p_tenant, p_id, '', '', fresh.head, 0, 0, '', fresh.base, fresh.base,
          fresh.root, 0, 0, 0, fresh.parent, fresh.parent_id, fresh.parent_seq, p_at, p_at, '')
        ON CONFLICT (name) DO NOTHING RETURNING * INTO r;
      -- Somebody else made it meanwhile.
      CONTINUE WHEN NOT FOUND;
      IF r.parent IS NOT NULL THEN INSERT INTO ${s}.fork VALUES (r.num, r.parent, r.parent_seq, r.base); END IF;
    END IF;
    before := r.sum;
    now := ${now};
    IF NOT is_new THEN
      IF before <> ${s}.row_sum_1(r) OR r.tenant <> p_tenant OR r.id <> p_id THEN
        RAISE EXCEPTION USING ERRCODE = 'BL001', MESSAGE = 'its row does not fit its checksum';
      END IF;
      IF r.append_id = p_append_id THEN
        RETURN concat('{"ok":true,"fence":', r.fence, ',"mail":', (r.open > 0)::text, ',"hash":"', encode(r.hash, 'hex'), '"}');
      END IF;
      IF p_more ? 'parent' THEN
        RETURN json_build_object('ok', false, 'why', 'conflict', 'head', r.head)::text;
      END IF;
      IF p_take IS NULL THEN
        IF r.fence <> p_fence OR r.owner IS NULL THEN
          RETURN json_build_object('ok', false, 'why', 'fenced', 'owner', r.owner)::text;
        END IF;
      ELSIF r.owner IS NOT NULL AND r.until > now THEN
        RETURN json_build_object('ok', false, 'why', 'busy', 'owner', r.owner, 'until', r.until)::text;
      END IF;
      IF r.head <> p_expect THEN
        RETURN json_build_object('ok', false, 'why', 'conflict', 'head', r.head)::text;
      END IF;
      IF p_consume IS NOT NULL THEN
        SELECT array_agg(k.key ORDER BY k.nth) FILTER (WHERE c.kind IS NULL), r.open - count(c.kind),
            r.queued - count(*) FILTER (WHERE c.kind = 'input'), r.answers - count(*) FILTER (WHERE c.kind = 'answer')
          INTO missing, r.open, r.queued, r.answers
          FROM unnest(p_consume) WITH ORDINALITY AS k(key, nth) LEFT JOIN ${s}.command c
            ON c.thread = r.num AND c.name = ${s}.name_1('', k.key) AND c.consumed_seq IS NULL;
        IF missing IS NOT NULL THEN
          -- An earlier try of this very append may have taken them since its row was read.
          CONTINUE WHEN NOT EXISTS (SELECT FROM ${s}.thread WHERE num = r.num AND sum = before);
          RETURN json_build_object('ok', false, 'why', 'gone', 'keys', missing)::text;
        END IF;
      END IF;
    END IF;
    IF p_take IS NOT NULL THEN
      r.fence := nextval('${s.replaceAll("'", "''")}.fence');
      r.owner := p_take;
    END IF;
    IF p_release THEN r.owner := NULL; END IF;
    r.until := now + p_ttl;
    r.append_id := p_append_id;
    r.agent := p_agent;
    r.state := p_state;
    r.head := p_expect + p_count;
    r.hash := substr(sha256(convert_to(concat(encode(r.hash, 'hex'), ',', p_expect + 1, ',', p_count, ',', p_at, ',',
      encode(p_digest, 'hex')), 'UTF8')), 1, 16);
    r.rest_from := p_rest_from;
    r.rest_due := p_rest_due;
    r.updated_at := p_at;${lists ? standing : ""}
    UPDATE ${s}.thread SET agent = r.agent, state = r.state, head = r.head, fence = r.fence, owner = r.owner, until = r.until,
      append_id = r.append_id, hash = r.hash, open = r.open, queued = r.queued, answers = r.answers,
      rest_from = r.rest_from, rest_due = r.rest_due, updated_at = r.updated_at, sum = ${s}.row_sum_1(r)${lists ? ", pause = r.pause, run = r.run" : ""}
      WHERE num = r.num AND sum = before;
    EXIT WHEN FOUND;
  END LOOP;
  -- From here on the row is ours: whatever else changes the thread waits for it.
  IF p_consume IS NOT NULL THEN
    UPDATE ${s}.command SET consumed_seq = p_expect + p_count, body = ''
      WHERE thread = r.num AND consumed_seq IS NULL AND name IN (SELECT ${s}.name_1('', k) FROM unnest(p_consume) AS k);
  END IF;
  IF p_apart THEN
    -- Locked until the line is there: whoever deletes the last line that has it looks again after that.
    INSERT INTO ${s}.blob (tenant_name, digest, body) VALUES (p_tenant_name, p_digest, p_body)
      ON CONFLICT (tenant_name, digest) DO UPDATE SET digest = excluded.digest RETURNING num INTO blob;
  END IF;
  INSERT INTO ${s}.entry VALUES
    (r.num, p_expect + 1, p_count, p_at, r.fence, CASE WHEN p_apart THEN NULL ELSE p_body END, blob, r.hash);
  IF p_snapshot IS NOT NULL THEN
    INSERT INTO ${s}.snapshot VALUES (r.num, p_expect, p_snapshot, p_snapshot_sum)
      ON CONFLICT (thread) DO UPDATE SET seq = excluded.seq, body = excluded.body, sum = excluded.sum;
  END IF;
  IF p_more IS NOT NULL THEN
    FOR item IN SELECT * FROM jsonb_array_elements(p_more -> 'raise') LOOP
      INSERT INTO ${s}.request (name, tenant_name, tenant, id, thread, expires_at, body, sum)
        VALUES (${s}.name_1(p_tenant, item ->> 0), p_tenant_name, p_tenant, item ->> 0, r.num, (item ->> 1)::bigint, item ->> 2,
          decode(item ->> 3, 'hex'));
    END LOOP;
    ${lists ? naming(s) : ""}
    FOR item IN SELECT * FROM jsonb_array_elements(p_more -> 'close') LOOP
      UPDATE ${s}.request SET closed = r.head, body = ${lists ? "coalesce(item ->> 2, '')" : "''"}, expires_at = NULL,
          ${lists ? "decided_at = CASE WHEN item ->> 2 IS NOT NULL THEN p_at END," : ""} sum = decode(item ->> 1, 'hex')
        WHERE name = ${s}.name_1(p_tenant, item ->> 0) AND thread = r.num AND closed IS NULL;
    END LOOP;
    FOR item IN SELECT * FROM jsonb_array_elements(p_more -> 'remember') LOOP
      INSERT INTO ${s}.rule (name, tenant_name, tenant, id, at, body, sum)
        VALUES (${s}.name_1(p_tenant, item ->> 0), p_tenant_name, p_tenant, item ->> 0, (item ->> 1)::bigint, item ->> 2,
          decode(item ->> 3, 'hex'))
        ON CONFLICT (name) DO NOTHING;
    END LOOP;
  END IF;
  RETURN concat('{"ok":true,"fence":', r.fence, ',"mail":', (r.open > 0)::text, ',"hash":"', encode(r.hash, 'hex'), '"}');
END $$;`;
}
