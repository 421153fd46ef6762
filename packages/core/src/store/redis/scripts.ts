// The steps of the store, each one script: Redis runs it alone and whole, and writes its changes as one transaction.
// Invariants:
// 1. A script is the same text for every call; a caller passes values, never parts of it.
// 2. It refuses before it writes: Redis undoes nothing. (Redis does refuse the first write itself, if its memory is
//    full or it may not write, and never a later one.)
// 3. Sent twice, which a client does when its connection breaks, it does its work once, and returns the first answer:
//    appends are known by their id, everything else by a number that its sender made up.
// 4. Time is the server's.
//
// Scripts, not a library of functions: a process brings its own, so that an old one and a new one work side by side, and
// neither needs the right to change the server. All keys begin with KEYS[1], whose hash tag they share (keys.ts).
//
// Long, and still one piece: they share the shape of a row.

import { hash as sha } from "node:crypto";

/**
 * The version of the data in Redis. A newer one is refused by each script, unless it says that programs as old as this can share
 * it (P17).
 */
export const VERSION = 2;

const shared = `
local base = KEYS[1]
local version = redis.call('HGET', base, 'v')
if version and tonumber(version) > ${VERSION} then
  local oldest = tonumber(redis.call('HGET', base, 'oldest') or version)
  if not oldest or oldest > ${VERSION} then return {'version', version} end
end
if version and tonumber(version) < ${VERSION} and not migrating then return {'migrate'} end
local threads, movable = base .. ':threads', base .. ':movable'
local ID, JOURNAL, AGENT, STATE, HEAD, FENCE, OWNER, UNTIL, APPEND, CRC, HASH = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local OPEN, QUEUED, ANSWERS, FROM, DUE, CREATED, UPDATED, PARENT, SEQ, PAST, MOVED = 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22
local PAUSE, RUN = 23, 24
local VALUES = migrating and 22 or 24

local function text(n) return string.format('%.0f', n) end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function number() return text(redis.call('HINCRBY', base, 'n', 1)) end

local function of(journal, what) return base .. ':j:' .. journal .. ':' .. what end

local function split(s, by)
  local values, from = {}, 1
  while true do
    local at = string.find(s, by, from, true)
    if not at then
      values[#values + 1] = string.sub(s, from)
      return values
    end
    values[#values + 1] = string.sub(s, from, at - 1)
    from = at + 1
  end
end

-- The row, or nil; and its values where they do not fit their checksum.
local function read(id)
  local raw = redis.call('HGET', threads, id)
  if not raw then return nil end
  local values = string.sub(raw, 42)
  local row = split(values, '\\n')
  if string.sub(raw, 1, 40) ~= redis.sha1hex(values) or #row ~= VALUES or row[ID] ~= id then return nil, row end
  return row
end

-- From when on somebody may have to move it, leases apart; nil where nobody has to, and 0 for at once. As isMovable() has it.
local function movableFrom(row)
  local state = row[STATE]
  if state == 'running' then return 0 end
  if state == 'paused' then
    if row[ANSWERS] ~= '0' then return 0 end
    return tonumber(row[DUE])
  end
  return (state == 'completed' or state == 'initialized') and row[QUEUED] ~= '0' and 0 or nil
end

-- Since when it is due, or from when on; nil where it is not. One that is held is due when its lease is over. A command that
-- comes or goes does not change since when it has waited; an append does.
local function dueFrom(row, isNew)
  local from = movableFrom(row)
  if not from then return nil end
  if row[OWNER] ~= '' then return text(math.max(from, tonumber(row[UNTIL]))) end
  if from > 0 then return text(from) end
  local time = now()
  local before = not isNew and tonumber(redis.call('ZSCORE', movable, row[ID]) or '') or time
  return text(math.min(before, time))
end

local function save(row, isNew)
  local values = table.concat(row, '\\n')
  redis.call('HSET', threads, row[ID], redis.sha1hex(values) .. '\\n' .. values)
  local from = dueFrom(row, isNew)
  if from then redis.call('ZADD', movable, from, row[ID]) else redis.call('ZREM', movable, row[ID]) end
end

local function tell(id, what)
  redis.call('PUBLISH', base .. ':w:' .. id, what)
  if what == 'append' then redis.call('PUBLISH', base .. ':w', id) end
end

-- The names of a thread: its title, its labels, the pairs and the words that it is found by. They stand behind their crc.
local function namesOf(id)
  local raw = redis.call('HGET', base .. ':names', id)
  local values = raw and split(raw, '\\n') or {}
  local function list(text)
    local found = {}
    for each in string.gmatch(text or '', '%S+') do found[#found + 1] = each end
    return found
  end
  return list(values[4]), list(values[5])
end

-- Threads that rest are in the lists of all that they are found by, in the order of their last append; of those that run
-- only the ids are kept, so that an append of one costs nothing.
local function unlist(id, state, agent, pause, tags)
  if state == 'running' then
    redis.call('SREM', base .. ':running', id)
    return
  end
  redis.call('ZREM', base .. ':at', id)
  redis.call('ZREM', base .. ':state:' .. state, id)
  redis.call('ZREM', base .. ':agent:' .. agent, id)
  if pause ~= '' then redis.call('ZREM', base .. ':pause:' .. pause, id) end
  for _, tag in ipairs(tags) do redis.call('ZREM', base .. ':label:' .. tag, id) end
end

local function enlist(row, tags)
  local id, at = row[ID], row[UPDATED]
  if row[STATE] == 'running' then
    redis.call('SADD', base .. ':running', id)
    return
  end
  redis.call('ZADD', base .. ':at', at, id)
  redis.call('ZADD', base .. ':state:' .. row[STATE], at, id)
  redis.call('ZADD', base .. ':agent:' .. row[AGENT], at, id)
  if row[PAUSE] ~= '' then redis.call('ZADD', base .. ':pause:' .. row[PAUSE], at, id) end
  for _, tag in ipairs(tags) do redis.call('ZADD', base .. ':label:' .. tag, at, id) end
end

local function add(row, value, n) row[value] = text(tonumber(row[value]) + n) end

-- How many commands of a kind wait, that many more.
local function count(row, kind, n)
  add(row, OPEN, n)
  if kind == 'input' then add(row, QUEUED, n) end
  if kind == 'answer' then add(row, ANSWERS, n) end
end

-- A command or a request is kept behind its number, and its kind or thread.
local function second(value) return string.match(value, '^[^\\n]*\\n([^\\n]*)') end

-- Journals that the lines of a row lie in, each up to a seq.
local function segments(row)
  local found = {}
  for journal, upto in string.gmatch(row[PAST], '([^@,]+)@(%d+)') do found[#found + 1] = {journal, tonumber(upto)} end
  found[#found + 1] = {row[JOURNAL], tonumber(row[HEAD])}
  return found
end
`;

const append = `
local id, appendId, expect, lines, at = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local line, journal, crc, hash, nextCrc, nextHash = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local take, fence, ttl, release = ARGV[12], ARGV[13], tonumber(ARGV[14]), ARGV[15]
local agent, state, snapshot, restFrom, restDue = ARGV[16], ARGV[17], ARGV[18], ARGV[19], ARGV[20]
local parent, parentSeq, since = ARGV[21], ARGV[22], ARGV[23]
local listed, pause, run, names = ARGV[24], ARGV[25], ARGV[26], ARGV[27]
local consumes, raises, closes, remembers = tonumber(ARGV[28]), tonumber(ARGV[29]), tonumber(ARGV[30]), tonumber(ARGV[31])
local amends, decides = tonumber(ARGV[32]), tonumber(ARGV[33])
local firstRaise = 33 + consumes
local firstClose = firstRaise + 2 * raises
local firstRemember = firstClose + closes
local firstAmend = firstRemember + 2 * remembers
local firstDecide = firstAmend + 2 * amends

local row, damaged = read(id)
if damaged then return {'damaged'} end
if row and row[APPEND] == appendId then return {'known', row[FENCE], row[OPEN]} end

local time = now()
local past, head, mark = '', 0, {'', '0', ''}
if row then
  if parent ~= '' then return {'conflict', row[HEAD]} end
  head, mark = tonumber(row[HEAD]), {row[JOURNAL], row[CRC], row[HASH]}
elseif parent ~= '' then
  local other, broken = read(string.sub(parent, 2))
  if broken then return {'damaged parent'} end
  if not other then return {'orphan'} end
  head = tonumber(parentSeq)
  local shares = {}
  if head > 0 then
    local last
    for _, segment in ipairs(segments(other)) do
      local upto = math.min(segment[2], head)
      shares[#shares + 1] = segment[1] .. '@' .. text(upto)
      last = segment[1]
      if upto == head then break end
    end
    local found = redis.call('XRANGE', of(last, 'lines'), parentSeq, parentSeq)
    if head > tonumber(other[HEAD]) or #found == 0 then return {'orphan'} end
    local values = split(found[1][2][2], '\\n')
    mark = {'', values[5], values[6]}
  end
  past = table.concat(shares, ',')
end

if take ~= '' then
  if row and since ~= '' and row[CREATED] ~= since then return {'conflict', '0'} end
  if row and row[OWNER] ~= '' and tonumber(row[UNTIL]) > time then return {'busy', row[OWNER], row[UNTIL]} end
elseif not row or row[FENCE] ~= fence or row[OWNER] == '' then
  return {'fenced', row and row[OWNER] or ''}
end
if head ~= expect then return {'conflict', text(head)} end

local mail = row and of(row[JOURNAL], 'mail')
local gone = {'gone'}
for i = 34, 33 + consumes do
  if not row or redis.call('HEXISTS', mail, ARGV[i]) == 0 then gone[#gone + 1] = ARGV[i] end
end
if #gone > 1 then return gone end

local brought = {}
for i = firstRaise + 1, firstClose, 2 do
  local request = ARGV[i]
  if brought[request] or redis.call('HEXISTS', base .. ':raised', request) == 1 then return {'raised', request} end
  brought[request] = true
end

-- The line continues another one than its writer thought: it comes again with the right checksums.
if crc ~= mark[2] or hash ~= mark[3] or (mark[1] ~= '' and journal ~= mark[1]) then
  return {'mark', mark[1], mark[2], mark[3]}
end
if mark[1] == '' and redis.call('EXISTS', of(journal, 'lines')) == 1 then return {'mark', '', mark[2], mark[3]} end

if not version then redis.call('HSET', base, 'v', '${VERSION}') end
if not row then
  row = {id, journal, '', '', '0', '0', '', '0', '', '0', '', '0', '0', '0', '', '', at, at, parent, parentSeq, past, '0', '?', ''}
  for _, segment in ipairs(segments(row)) do
    if segment[1] ~= journal then redis.call('ZADD', of(segment[1], 'forks'), segment[2], journal) end
  end
end
if take ~= '' then
  row[FENCE] = text(redis.call('HINCRBY', base, 'fence', 1))
  row[OWNER] = take
end
local before = {row[STATE], row[AGENT], row[PAUSE]}
row[UNTIL] = text(time + ttl)
if release == '1' then row[OWNER] = '' end
row[AGENT], row[STATE], row[APPEND], row[CRC], row[HASH] = agent, state, appendId, nextCrc, nextHash
row[HEAD], row[FROM], row[DUE], row[UPDATED] = text(expect + lines), restFrom, restDue, at
redis.call('XADD', of(journal, 'lines'), row[HEAD] .. '-0', 'l', row[FENCE] .. '\\n' .. line)
if snapshot ~= '' then redis.call('SET', of(journal, 'snapshot'), snapshot) end
for i = 34, 33 + consumes do
  local found = redis.call('HGET', mail, ARGV[i])
  if found then
    count(row, second(found), -1)
    redis.call('HDEL', mail, ARGV[i])
  end
end
for i = firstRaise + 1, firstClose, 2 do
  local place = number()
  redis.call('HSET', base .. ':requests', ARGV[i], place .. '\\n' .. id .. '\\n' .. ARGV[i + 1])
  redis.call('ZADD', base .. ':asked', place, ARGV[i])
  redis.call('HSET', base .. ':raised', ARGV[i], journal .. '\\n' .. id)
  redis.call('SADD', of(journal, 'raised'), ARGV[i])
  redis.call('SADD', of(journal, 'asking'), ARGV[i])
end
local function asks(request) return redis.call('SISMEMBER', of(journal, 'asking'), request) == 1 end
for i = firstAmend + 1, firstDecide, 2 do
  local found = asks(ARGV[i]) and redis.call('HGET', base .. ':requests', ARGV[i])
  local place = found and string.match(found, '^[^\\n]*\\n[^\\n]*\\n')
  if place then redis.call('HSET', base .. ':requests', ARGV[i], place .. ARGV[i + 1]) end
end
for i = firstDecide + 1, firstDecide + 2 * decides, 2 do
  if asks(ARGV[i]) then
    redis.call('HSET', base .. ':verdicts', ARGV[i], id .. '\\n' .. ARGV[i + 1])
    redis.call('ZADD', base .. ':decided', at, ARGV[i])
  end
end
for i = firstClose + 1, firstRemember do
  if redis.call('SISMEMBER', of(journal, 'raised'), ARGV[i]) == 1 then
    redis.call('HDEL', base .. ':requests', ARGV[i])
    redis.call('ZREM', base .. ':asked', ARGV[i])
    redis.call('SREM', of(journal, 'asking'), ARGV[i])
  end
end
for i = firstRemember + 1, firstAmend, 2 do
  if redis.call('HEXISTS', base .. ':rules', ARGV[i]) == 0 then
    redis.call('HSET', base .. ':rules', ARGV[i], number() .. '\\n' .. ARGV[i + 1])
  end
end
if listed == '1' then
  row[PAUSE], row[RUN] = pause, run
elseif row[PAUSE] ~= '?' then
  row[PAUSE] = state ~= 'paused' and '' or (row[PAUSE] ~= '' and row[PAUSE] or '?')
end
if before[1] ~= 'running' or state ~= 'running' or listed == '1' or names ~= '' then
  local tags, words = namesOf(id)
  unlist(id, before[1], before[2], before[3], tags)
  if names ~= '' then
    for _, word in ipairs(words) do redis.call('ZREM', base .. ':words', word .. '\\n' .. id) end
    redis.call('HSET', base .. ':names', id, names)
    tags, words = namesOf(id)
    for _, word in ipairs(words) do redis.call('ZADD', base .. ':words', 0, word .. '\\n' .. id) end
  end
  enlist(row, tags)
end
save(row, true)
tell(id, 'append')
return {'ok', row[FENCE], row[OPEN]}
`;

// The lines up to \`to\` that hold facts after a seq, by the journals they lie in, and the one before them. Those of a
// journal are one text, which a client reads much faster than a list.
const lines = `
local function lines(row, after, to)
  local reply, mark = {}, ''
  local first = text(after + 1)
  local from = 0
  for _, segment in ipairs(segments(row)) do
    local key, upto = of(segment[1], 'lines'), math.min(segment[2], to)
    if after > from then
      local before = redis.call('XREVRANGE', key, text(math.min(upto, after)), '-', 'COUNT', 1)
      if #before > 0 then mark = before[1][2][2] end
    end
    local found = {}
    if upto > after then
      for i, entry in ipairs(redis.call('XRANGE', key, first, text(upto))) do found[i] = entry[2][2] end
    end
    reply[#reply + 1] = {segment[1], table.concat(found, '\\n')}
    from = segment[2]
  end
  return reply, mark
end
`;

const load = `${lines}
local id, from = ARGV[1], ARGV[2]
local row, damaged = read(id)
if damaged then return {'damaged'} end
if not row then return {'none'} end
local snapshot, after = '', 0
if from == 'snapshot' then
  snapshot = redis.call('GET', of(row[JOURNAL], 'snapshot')) or ''
  after = tonumber(string.match(snapshot, '^%d+') or '0')
  if after > tonumber(row[HEAD]) then
    snapshot, after = '', 0
  end
elseif from == 'rest' then
  after = (row[FROM] ~= '' and tonumber(row[FROM]) or tonumber(row[HEAD])) - 1
else
  after = tonumber(from)
end
if after < 0 then after = 0 end
local mail = row[OPEN] == '0' and {} or redis.call('HGETALL', of(row[JOURNAL], 'mail'))
local found, mark = lines(row, after, tonumber(row[HEAD]))
local values = table.concat(row, '\\n')
local names = redis.call('HGET', base .. ':names', id) or ''
return {'row', redis.sha1hex(values) .. '\\n' .. values, text(now()), text(after), mark, snapshot, mail, found, names}
`;

// Returns all that can be found of a thread, also if its row does not fit its checksum: the caller proves each line.
const past = `${lines}
local row, damaged = read(ARGV[1])
if damaged then return {'damaged'} end
if not row then return {'none'} end
local found = lines(row, 0, tonumber(ARGV[2]))
local values = table.concat(row, '\\n')
return {'row', redis.sha1hex(values) .. '\\n' .. values, found}
`;

const renew = `
local row, damaged = read(ARGV[1])
if damaged then return {'damaged'} end
if not row or row[FENCE] ~= ARGV[2] or row[OWNER] == '' then return {'no'} end
row[UNTIL] = text(now() + tonumber(ARGV[3]))
save(row)
return {'yes'}
`;

const release = `
local row, damaged = read(ARGV[1])
if damaged then return {'damaged'} end
if not row or row[FENCE] ~= ARGV[2] or row[OWNER] == '' then return {'no'} end
row[OWNER] = ''
save(row, true)
tell(ARGV[1], 'append')
return {'yes'}
`;

const send = `
local id, key, kind, packed, sender = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local row, damaged = read(id)
if damaged then return {'damaged'} end
if not row then return {'unknown'} end
local known = redis.call('HGET', of(row[JOURNAL], 'known'), key)
-- An answer that was taken back may be sent again.
if known and string.sub(known, 1, 1) ~= '~' then return {known == sender and 'yes' or 'no'} end
row[MOVED] = number()
redis.call('HSET', of(row[JOURNAL], 'known'), key, sender)
redis.call('HSET', of(row[JOURNAL], 'mail'), key, row[MOVED] .. '\\n' .. kind .. '\\n' .. packed)
count(row, kind, 1)
save(row)
tell(id, 'command')
return {'yes'}
`;

const withdraw = `
local id, key = ARGV[1], ARGV[2]
local row, damaged = read(id)
if damaged then return {'damaged'} end
if not row then return {'no'} end
local known, mail = of(row[JOURNAL], 'known'), of(row[JOURNAL], 'mail')
local before = redis.call('HGET', known, key)
if before == '-' .. ARGV[3] or before == '~' .. ARGV[3] then return {'yes'} end
local found = redis.call('HGET', mail, key)
local kind = found and second(found)
if not kind or kind == 'late' or (kind == 'stop' and row[OWNER] ~= '') then return {'no'} end
row[MOVED] = number()
redis.call('HSET', known, key, (kind == 'answer' and '~' or '-') .. ARGV[3])
redis.call('HDEL', mail, key)
count(row, kind, -1)
save(row)
tell(id, 'command')
return {'yes'}
`;

const list = `
local page = redis.call('HSCAN', threads, ARGV[1], 'COUNT', ARGV[2])
return {'page', text(now()), page[1], page[2]}
`;

// Those that are due, the longest waiting first: at most ARGV[1], waiting for longer than ARGV[2].
const due = `
local time = now()
local found, from, count = {}, 0, tonumber(ARGV[1])
local function isFree(row) return row[OWNER] == '' or tonumber(row[UNTIL]) <= time end
while #found < 4 * count do
  local ids = redis.call('ZRANGEBYSCORE', movable, '-inf', text(time - tonumber(ARGV[2])), 'WITHSCORES', 'LIMIT', from, count)
  for i = 1, #ids, 2 do
    local row, damaged = read(ids[i])
    local moves = row and movableFrom(row)
    if not row and not damaged or (row and not moves) then
      redis.call('ZREM', movable, ids[i])
    elseif #found < 4 * count and (not row or (isFree(row) and moves <= time)) then
      found[#found + 1] = ids[i]
      found[#found + 1] = ids[i + 1]
      found[#found + 1] = row and row[HEAD] or '0'
      found[#found + 1] = row and row[FENCE] or '0'
    end
  end
  if #ids < 2 * count then break end
  from = from + count
end
return {'due', found}
`;

// All open requests, or a page: then the order of their numbers must have each of them.
const requests = `
if ARGV[1] == '' then return {'all', redis.call('HGETALL', base .. ':requests')} end
if redis.call('ZCARD', base .. ':asked') ~= redis.call('HLEN', base .. ':requests') then return {'differ'} end
local ids = redis.call('ZRANGEBYSCORE', base .. ':asked', '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])
local flat = {}
for _, id in ipairs(ids) do
  local found = redis.call('HGET', base .. ':requests', id)
  if not found then return {'differ'} end
  flat[#flat + 1] = id
  flat[#flat + 1] = text(tonumber(redis.call('ZSCORE', base .. ':asked', id))) .. '\\n' .. string.match(found, '^[^\\n]*\\n?(.*)$')
end
return {'page', flat}
`;

const requestThread = `
local found = redis.call('HGET', base .. ':raised', ARGV[1])
return {'found', found and second(found) or false}
`;

const rules = `return {'all', redis.call('HGETALL', base .. ':rules')}`;

/**
 * After a removal no data is left to recognise it by: the number of its caller is kept for a while. Written after the removal: a
 * full server refuses a script that begins with a write.
 */
const done = `
local before = base .. ':did:' .. ARGV[1]
if redis.call('EXISTS', before) == 1 then return {'yes'} end
local function did() redis.call('SET', before, '1', 'PX', 60000) end
`;

const removeRule = `${done}
if redis.call('HEXISTS', base .. ':rules', ARGV[2]) == 0 then return {'no'} end
redis.call('HDEL', base .. ':rules', ARGV[2])
did()
return {'yes'}
`;

// Lines that forks need stay; those after the last that is needed go.
const remove = `${done}
local id, head = ARGV[2], ARGV[3]
local row, damaged = read(id)
if not row and not damaged then return {'no'} end
if head ~= '' then
  if damaged then return {'damaged'} end
  if row[HEAD] ~= head or row[QUEUED] ~= '0' or row[ANSWERS] ~= '0' then return {'no'} end
  if row[OWNER] ~= '' and tonumber(row[UNTIL]) > now() then return {'no'} end
end

local function drop(journal)
  local last = redis.call('ZREVRANGE', of(journal, 'forks'), 0, 0, 'WITHSCORES')
  if #last == 0 then
    redis.call('DEL', of(journal, 'lines'))
    redis.call('SREM', base .. ':kept', journal)
    return
  end
  redis.call('SADD', base .. ':kept', journal)
  local beyond = redis.call('XRANGE', of(journal, 'lines'), text(tonumber(last[2]) + 1), '+')
  for _, entry in ipairs(beyond) do redis.call('XDEL', of(journal, 'lines'), entry[1]) end
end

redis.call('HDEL', threads, id)
did()
redis.call('ZREM', movable, id)
row = row or damaged
local tags, words = namesOf(id)
unlist(id, row[STATE] or '', row[AGENT] or '', row[PAUSE] or '', tags)
redis.call('ZREM', base .. ':at', id)
redis.call('SREM', base .. ':running', id)
for _, word in ipairs(words) do redis.call('ZREM', base .. ':words', word .. '\\n' .. id) end
redis.call('HDEL', base .. ':names', id)
local journal = row[JOURNAL]
if journal and string.match(journal, '^[%w_-]+$') then
  for _, request in ipairs(redis.call('SMEMBERS', of(journal, 'raised'))) do
    redis.call('HDEL', base .. ':requests', request)
    redis.call('ZREM', base .. ':asked', request)
    redis.call('HDEL', base .. ':raised', request)
    redis.call('HDEL', base .. ':verdicts', request)
    redis.call('ZREM', base .. ':decided', request)
  end
  for _, what in ipairs({'mail', 'known', 'snapshot', 'raised', 'asking'}) do redis.call('DEL', of(journal, what)) end
  drop(journal)
  if #row == VALUES then
    for other in string.gmatch(row[PAST], '([^@,]+)@%d+') do
      redis.call('ZREM', of(other, 'forks'), journal)
      if redis.call('SISMEMBER', base .. ':kept', other) == 1 then drop(other) end
    end
  end
end
tell(id, 'append')
return {'yes'}
`;

// Returns a digest of each named thread, for watchers.
const look = `
local seen = {}
for i, id in ipairs(ARGV) do
  local row = read(id)
  seen[i] = row and table.concat({row[JOURNAL], row[APPEND], row[MOVED], row[OWNER]}, '\\n') or ''
end
return {'seen', seen}
`;

// A page of threads: of those that rest one list leads to them, the shortest of all that they must be in, or the words of a
// search; those that run are looked at one by one.
const page = `
local limit, afterAt, afterId = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local state, pause, agent = ARGV[4], ARGV[5], ARGV[6]
local pairCount, wordCount, idCount = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local function after(at, id)
  return afterAt == '' or at < tonumber(afterAt) or (at == tonumber(afterAt) and id < afterId)
end

-- Ids that a search finds, or that were asked for; nil where neither was.
local wanted
if idCount > 0 then
  wanted = {}
  for i = 10 + pairCount + 2 * wordCount, 9 + pairCount + 2 * wordCount + idCount do wanted[ARGV[i]] = true end
end
for i = 10 + pairCount, 9 + pairCount + 2 * wordCount, 2 do
  local found = {}
  for _, entry in ipairs(redis.call('ZRANGEBYLEX', base .. ':words', '[' .. ARGV[i], '(' .. ARGV[i + 1])) do
    local id = string.match(entry, '\\n(.*)$')
    if not wanted or wanted[id] then found[id] = true end
  end
  wanted = found
end

local found = {}
if state ~= 'running' then
  local lists = {}
  if state ~= '' then lists[#lists + 1] = base .. ':state:' .. state end
  if pause ~= '' then lists[#lists + 1] = base .. ':pause:' .. pause end
  if pause == '?' then lists[#lists + 1] = base .. ':state:paused' end
  if agent ~= '' then lists[#lists + 1] = base .. ':agent:' .. string.sub(agent, 2) end
  for i = 10, 9 + pairCount do lists[#lists + 1] = base .. ':label:' .. ARGV[i] end
  if #lists == 0 then lists[1] = base .. ':at' end
  local function isIn(id)
    for _, list in ipairs(lists) do
      if not redis.call('ZSCORE', list, id) then return false end
    end
    return true
  end
  local few = 0
  for _ in pairs(wanted or {}) do few = few + 1 end
  if wanted and few <= 2 * limit then
    for id in pairs(wanted) do
      local at = tonumber(redis.call('ZSCORE', lists[1], id) or '')
      if at and after(at, id) and isIn(id) then found[#found + 1] = {at, id} end
    end
  else
    local shortest, least = lists[1], redis.call('ZCARD', lists[1])
    for _, list in ipairs(lists) do
      local count = redis.call('ZCARD', list)
      if count < least then shortest, least = list, count end
    end
    -- So many that a command for each would take long: the list is read from its beginning, in large parts.
    local from, count = 0, wanted and 1000 or 2 * limit
    while #found < limit do
      local ids = redis.call('ZREVRANGEBYSCORE', shortest, afterAt == '' and '+inf' or afterAt, '-inf', 'WITHSCORES', 'LIMIT', from, count)
      for i = 1, #ids, 2 do
        local fits = #found < limit and (not wanted or wanted[ids[i]]) and after(tonumber(ids[i + 1]), ids[i])
        if fits and isIn(ids[i]) then
          found[#found + 1] = {tonumber(ids[i + 1]), ids[i]}
        end
      end
      if #ids < 2 * count then break end
      from = from + count
    end
  end
end
if (state == '' or state == 'running') and pause == '' then
  for _, id in ipairs(redis.call('SMEMBERS', base .. ':running')) do
    local row = read(id)
    local at = row and tonumber(row[UPDATED]) or 0
    local fits = after(at, id) and (not wanted or wanted[id]) and (agent == '' or not row or row[AGENT] == string.sub(agent, 2))
    if fits and pairCount > 0 then
      local has = {}
      for _, pair in ipairs((namesOf(id))) do has[pair] = true end
      for i = 10, 9 + pairCount do fits = fits and has[ARGV[i]] end
    end
    if fits then found[#found + 1] = {at, id} end
  end
end
table.sort(found, function(a, b)
  if a[1] ~= b[1] then return a[1] > b[1] end
  return a[2] > b[2]
end)
local rows = {}
for i = 1, math.min(limit, #found) do
  local at, id = found[i][1], found[i][2]
  local row = read(id)
  local open = row and redis.call('SCARD', of(row[JOURNAL], 'asking')) or 0
  rows[i] = {id, text(at), redis.call('HGET', threads, id) or '', redis.call('HGET', base .. ':names', id) or '', text(open)}
end
return {'page', text(now()), rows}
`;

const decided = `
local limit, afterAt, afterId, thread = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local function after(at, id)
  return afterAt == '' or at < tonumber(afterAt) or (at == tonumber(afterAt) and id < afterId)
end
local found = {}
if thread ~= '' then
  local row = read(string.sub(thread, 2))
  for _, id in ipairs(row and redis.call('SMEMBERS', of(row[JOURNAL], 'raised')) or {}) do
    local at = tonumber(redis.call('ZSCORE', base .. ':decided', id) or '')
    if at and after(at, id) then found[#found + 1] = {at, id} end
  end
  table.sort(found, function(a, b)
    if a[1] ~= b[1] then return a[1] > b[1] end
    return a[2] > b[2]
  end)
else
  local from, count = 0, 2 * limit
  while #found < limit do
    local ids = redis.call('ZREVRANGEBYSCORE', base .. ':decided', afterAt == '' and '+inf' or afterAt, '-inf', 'WITHSCORES', 'LIMIT', from, count)
    for i = 1, #ids, 2 do
      if after(tonumber(ids[i + 1]), ids[i]) then found[#found + 1] = {tonumber(ids[i + 1]), ids[i]} end
    end
    if #ids < 2 * count then break end
    from = from + count
  end
end
local rows = {}
for i = 1, math.min(limit, #found) do
  rows[i] = {found[i][2], text(found[i][1]), redis.call('HGET', base .. ':verdicts', found[i][2]) or ''}
end
return {'page', rows}
`;

const request = `
local open = redis.call('HGET', base .. ':requests', ARGV[1])
if open then return {'open', open} end
local at = redis.call('ZSCORE', base .. ':decided', ARGV[1])
if at then return {'decided', text(tonumber(at)), redis.call('HGET', base .. ':verdicts', ARGV[1]) or ''} end
return {'none'}
`;

// From version 1, which had no lists: every thread is listed, without its pause, its run and a title. One that is damaged is
// listed last.
const migrate = `
if not version or tonumber(version) > 1 then return {'yes'} end
local all = redis.call('HGETALL', threads)
for i = 1, #all, 2 do
  local id = all[i]
  local row = read(id)
  if row then
    row[PAUSE], row[RUN] = '?', ''
    local values = table.concat(row, '\\n')
    redis.call('HSET', threads, id, redis.sha1hex(values) .. '\\n' .. values)
    enlist(row, {})
  else
    redis.call('ZADD', base .. ':at', 0, id)
  end
end
local requests = redis.call('HKEYS', base .. ':requests')
for _, id in ipairs(requests) do
  local raised = redis.call('HGET', base .. ':raised', id)
  local journal = raised and string.match(raised, '^[^\\n]*')
  if journal then redis.call('SADD', of(journal, 'asking'), id) end
  local place = tonumber(string.match(redis.call('HGET', base .. ':requests', id), '^%d+') or '0')
  redis.call('ZADD', base .. ':asked', text(place), id)
end
redis.call('HSET', base, 'v', '${VERSION}')
return {'yes'}
`;

export interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(body: string, migrating = false): Script {
  const text = `local migrating = ${migrating}\n${shared}${body}`;
  return { text, sha: sha("sha1", text, "hex") };
}

/** A script on the set of tenants, which lies on a node of its own in a cluster. */
function plain(text: string): Script {
  return { text, sha: sha("sha1", text, "hex") };
}

export const scripts = {
  tenants: plain("return {'all', redis.call('SMEMBERS', KEYS[1])}"),
  addTenant: plain("redis.call('SADD', KEYS[1], ARGV[1])\nreturn {'yes'}"),
  append: script(append),
  load: script(load),
  past: script(past),
  renew: script(renew),
  release: script(release),
  send: script(send),
  withdraw: script(withdraw),
  list: script(list),
  due: script(due),
  requests: script(requests),
  requestThread: script(requestThread),
  rules: script(rules),
  removeRule: script(removeRule),
  remove: script(remove),
  look: script(look),
  page: script(page),
  decided: script(decided),
  request: script(request),
  migrate: script(migrate, true),
} satisfies Record<string, Script>;
