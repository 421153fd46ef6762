PRAGMA user_version = 4;
PRAGMA application_id = 0;
BEGIN TRANSACTION;
CREATE TABLE blob (tenant TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, id));
CREATE TABLE command (
     thread INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
     body TEXT NOT NULL, at INTEGER NOT NULL, crc INTEGER NOT NULL, consumed_seq INTEGER);
CREATE TABLE entry (
     id INTEGER PRIMARY KEY, count INTEGER NOT NULL, at INTEGER NOT NULL, fence INTEGER NOT NULL,
     body TEXT, blob TEXT, crc INTEGER NOT NULL, hash BLOB NOT NULL);
INSERT INTO "entry" VALUES(4294967297,4,1794972886980,1,'{"v":2,"r":"mwlkifnmg9l68peix7","n":"belay","e":["initialized",{"run":"start","fingerprint":{"model":"demo","instructions":"95a94b0bf2a5","tools":{"read":"b673d88ab189","list":"4f3c036dd9a2","search":"b95740c3c5e8","ask_user":"d683b0afd4cf","edit":"710840778279","write":"01200569af6a","shell":"a2928625b933","fetch":"5afd450b4b0a"}}},"running",{"m":"run echo always"}]}',NULL,2173902699,X'3EB9515BFECF3CBAFFADEBD82E4D897E');
INSERT INTO "entry" VALUES(4294967301,3,1794972886993,1,'{"v":2,"r":"mwlkifnmg9l68peix7","n":"belay","e":[{"m":[{"type":"text","text":"I would run this."},{"type":"call","id":"demo_2_0","tool":"shell","args":{"command":"echo always"}}],"t":1,"at":1794972886987,"model":"demo","usage":[188,5]},{"action":{"interrupted":{"id":"mwlkifnz6jf5neppq7","address":"belay/t1/c0/approval","raisedAt":1794972886991,"by":"belay","callId":"demo_2_0","tool":"shell","version":"in /tmp/belay-earlier-release","digest":"40a4334943713ee323632abf067741f6fa03c53f3c4f909abbc2deb32d1e4ec3","kind":"approval","reason":"Run this command?","context":{"command":"echo always","folder":"/tmp/belay-earlier-release"}}}},{"state":"paused","pauseType":"tool_interrupt","tokenHash":"a24d2eb3479cb68dd6592ee05725ddd8f3fa7e472da2c85b860ced59d98e74d8"}]}',NULL,3809046407,X'C1D115BD6194D0754B1382CDAC32C4DA');
INSERT INTO "entry" VALUES(4294967304,1,1794972888178,2,'{"v":2,"r":"mwlkifnmg9l68peix7","n":"belay","e":[{"answered":"mwlkifnz6jf5neppq7","by":"anna","answer":{"by":"anna","remember":"always","type":"approve"},"digest":"40a4334943713ee323632abf067741f6fa03c53f3c4f909abbc2deb32d1e4ec3","rule":{"id":"rule.mwlkifnz6jf5neppq7","tool":"shell","args":{"":{"command":"echo always"}},"effect":"allow","reason":"approved by anna","by":"anna","at":1794972888178},"remember":"always"}]}',NULL,2600585207,X'7E3732054F552472CF05FB27E62201EF');
INSERT INTO "entry" VALUES(4294967305,1,1794972888199,2,'{"v":1,"r":"mwlkifnmg9l68peix7","n":"belay","e":[{"call":"demo_2_0","tool":"shell","address":"belay/t1/c0"}]}',NULL,2987551680,X'F66182981657B6F943410E82C7C7CD64');
INSERT INTO "entry" VALUES(4294967306,1,1794972888267,2,'{"v":1,"r":"mwlkifnmg9l68peix7","n":"belay","e":[{"end":"demo_2_0","tool":"shell","address":"belay/t1/c0","output":"always\n[exit code 0]"}]}',NULL,2711734270,X'4880F97FB971E1207E50A82AB585F9C7');
INSERT INTO "entry" VALUES(8589934593,4,1794972888543,1,'{"v":2,"r":"mwlkigv09nsd5ypjpt","n":"belay","e":["initialized",{"run":"start","fingerprint":{"model":"demo","instructions":"95a94b0bf2a5","tools":{"read":"b673d88ab189","list":"4f3c036dd9a2","search":"b95740c3c5e8","ask_user":"d683b0afd4cf","edit":"710840778279","write":"01200569af6a","shell":"a2928625b933","fetch":"5afd450b4b0a"}}},"running",{"m":"run echo thread"}]}',NULL,4135829399,X'E70EA9442181BF5381EDF84CB9D8839F');
INSERT INTO "entry" VALUES(8589934597,3,1794972888556,1,'{"v":2,"r":"mwlkigv09nsd5ypjpt","n":"belay","e":[{"m":[{"type":"text","text":"I would run this."},{"type":"call","id":"demo_2_0","tool":"shell","args":{"command":"echo thread"}}],"t":1,"at":1794972888552,"model":"demo","usage":[188,5]},{"action":{"interrupted":{"id":"mwlkigved9iqzwb3gp","address":"belay/t1/c0/approval","raisedAt":1794972888554,"by":"belay","callId":"demo_2_0","tool":"shell","version":"in /tmp/belay-earlier-release","digest":"c32accaa215e91838428ed4ad72841db8cf8608e855ea9aef0c30d525b7fac69","kind":"approval","reason":"Run this command?","context":{"command":"echo thread","folder":"/tmp/belay-earlier-release"}}}},{"state":"paused","pauseType":"tool_interrupt","tokenHash":"00e1fd65f4d033f19ab909885691226adfb424057bb46bdc41e63dccc8b40469"}]}',NULL,3652874095,X'F61CCEC2CA86312CB8FAC119542C885D');
INSERT INTO "entry" VALUES(8589934600,1,1794972889182,2,'{"v":2,"r":"mwlkigv09nsd5ypjpt","n":"belay","e":[{"answered":"mwlkigved9iqzwb3gp","by":"anna","answer":{"by":"anna","remember":"thread","type":"approve"},"digest":"c32accaa215e91838428ed4ad72841db8cf8608e855ea9aef0c30d525b7fac69","rule":{"id":"rule.mwlkigved9iqzwb3gp","tool":"shell","args":{"":{"command":"echo thread"}},"effect":"allow","reason":"approved by anna","by":"anna","at":1794972889182},"remember":"thread"}]}',NULL,690678237,X'429A4BCE12F31EE1DD208F5D09693218');
INSERT INTO "entry" VALUES(8589934601,1,1794972889196,2,'{"v":1,"r":"mwlkigv09nsd5ypjpt","n":"belay","e":[{"call":"demo_2_0","tool":"shell","address":"belay/t1/c0"}]}',NULL,3782393967,X'9DBF2E8E1E2E5B7813CF9BB5AFAD2960');
INSERT INTO "entry" VALUES(8589934602,1,1794972889264,2,'{"v":1,"r":"mwlkigv09nsd5ypjpt","n":"belay","e":[{"end":"demo_2_0","tool":"shell","address":"belay/t1/c0","output":"thread\n[exit code 0]"}]}',NULL,2183030936,X'31615D25099BA47AC5A3C05B258C2975');
INSERT INTO "entry" VALUES(12884901889,4,1794972889494,1,'{"v":2,"r":"mwlkihlfth2g13hkr4","n":"belay","e":["initialized",{"run":"start","fingerprint":{"model":"demo","instructions":"95a94b0bf2a5","tools":{"read":"b673d88ab189","list":"4f3c036dd9a2","search":"b95740c3c5e8","ask_user":"d683b0afd4cf","edit":"710840778279","write":"01200569af6a","shell":"a2928625b933","fetch":"5afd450b4b0a"}}},"running",{"m":"edit notes.txt: \"one\" to \"two\""}]}',NULL,154064448,X'3443BBCE4525F9F7D1A23FA92B6A0D48');
INSERT INTO "entry" VALUES(12884901893,3,1794972889528,1,'{"v":2,"r":"mwlkihlfth2g13hkr4","n":"belay","e":[{"m":[{"type":"text","text":"I would change this."},{"type":"call","id":"demo_2_0","tool":"edit","args":{"path":"notes.txt","old":"one","new":"two"}}],"t":1,"at":1794972889510,"model":"demo","usage":[193,5]},{"action":{"interrupted":{"id":"mwlkihmeqsc9n70rhx","address":"belay/t1/c0/approval","raisedAt":1794972889526,"by":"belay","callId":"demo_2_0","tool":"edit","version":"in /tmp/belay-earlier-release","digest":"995cabeed08a4b1e26d32d57769536a9913a2d75fc5649e0b46cf8cb6338e830","kind":"approval","reason":"Edit notes.txt?","context":{"path":"notes.txt","diff":"--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n"}}}},{"state":"paused","pauseType":"tool_interrupt","tokenHash":"d3bb3c39770310891f1749f6e365380d97a4912f68aabfcef99121eddcf2cf56"}]}',NULL,2385748227,X'B2C9AD745D63412EDE7E8801874B3E06');
CREATE TABLE fences (last INTEGER NOT NULL, crc INTEGER NOT NULL);
INSERT INTO "fences" VALUES(0,3225255870);
CREATE TABLE kept (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, base INTEGER, base_seq INTEGER, base_crc INTEGER);
CREATE TABLE request (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, name INTEGER NOT NULL, thread INTEGER NOT NULL,
     expires_at INTEGER, body TEXT NOT NULL, crc INTEGER NOT NULL, closed INTEGER, UNIQUE (tenant, id));
INSERT INTO "request" VALUES(1,'default','mwlkifnz6jf5neppq7',4127603340,1,NULL,'',2150786923,8);
INSERT INTO "request" VALUES(2,'default','mwlkigved9iqzwb3gp',2103142656,2,NULL,'',3728804282,8);
INSERT INTO "request" VALUES(3,'default','mwlkihmeqsc9n70rhx',303414723,3,NULL,'{"runId":"mwlkihlfth2g13hkr4","interrupt":{"id":"mwlkihmeqsc9n70rhx","address":"belay/t1/c0/approval","raisedAt":1794972889526,"by":"belay","callId":"demo_2_0","tool":"edit","version":"in /tmp/belay-earlier-release","args":{"path":"notes.txt","old":"one","new":"two"},"digest":"995cabeed08a4b1e26d32d57769536a9913a2d75fc5649e0b46cf8cb6338e830","kind":"approval","reason":"Edit notes.txt?","context":{"path":"notes.txt","diff":"--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n"}}}',2253572073,NULL);
CREATE TABLE rule (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
     crc INTEGER NOT NULL, UNIQUE (tenant, id));
INSERT INTO "rule" VALUES(1,'default','rule.mwlkifnz6jf5neppq7',1794972888178,'{"id":"rule.mwlkifnz6jf5neppq7","tool":"shell","args":{"":{"command":"echo always"}},"effect":"allow","reason":"approved by anna","by":"anna","at":1794972888178}',1112739599);
CREATE TABLE snapshot (thread INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE thread (
     num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, name INTEGER NOT NULL, agent TEXT NOT NULL,
     state TEXT NOT NULL, head INTEGER NOT NULL, fence INTEGER NOT NULL, owner TEXT, until INTEGER NOT NULL,
     append_id TEXT NOT NULL, crc INTEGER NOT NULL, hash BLOB NOT NULL, open INTEGER NOT NULL, queued INTEGER NOT NULL,
     created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, row_crc INTEGER NOT NULL, answers INTEGER, rest_from INTEGER, rest_due INTEGER, parent TEXT, base INTEGER, base_seq INTEGER, base_crc INTEGER,
     UNIQUE (tenant, id));
INSERT INTO "thread" VALUES(1,'default','mwlkifnlxo785j16rl',3871911600,'belay','paused',10,2,NULL,1794972918267,'vm@926b07de.4026531836/27033/158511/mwlkigkdax69hijtno.3',2711734270,X'4880F97FB971E1207E50A82AB585F9C7',0,0,1794972886980,1794972888267,642923860,NULL,5,0,NULL,NULL,NULL,NULL);
INSERT INTO "thread" VALUES(2,'default','mwlkiguzf2bradvvqc',2729748278,'belay','paused',10,2,NULL,1794972919264,'vm@926b07de.4026531836/27108/158627/mwlkihcogzazrkgbfn.3',2183030936,X'31615D25099BA47AC5A3C05B258C2975',0,0,1794972888543,1794972889264,1141121188,NULL,5,0,NULL,NULL,NULL,NULL);
INSERT INTO "thread" VALUES(3,'default','mwlkihlah5ocm8ir6d',497580277,'belay','paused',7,1,NULL,1794972919528,'vm@926b07de.4026531836/27127/158661/mwlkihkwcs0mb4pa99.2',2385748227,X'B2C9AD745D63412EDE7E8801874B3E06',0,0,1794972889494,1794972889528,1770755138,NULL,5,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX thread_name ON thread (name);
CREATE INDEX thread_tenant ON thread (tenant);
CREATE UNIQUE INDEX command_key ON command (thread, key);
CREATE INDEX command_open ON command (thread) WHERE consumed_seq IS NULL;
CREATE INDEX request_name ON request (name);
CREATE INDEX request_thread ON request (thread);
CREATE INDEX request_open ON request (tenant) WHERE closed IS NULL;
CREATE INDEX request_open_name ON request (tenant, name) WHERE closed IS NULL;
CREATE INDEX rule_tenant ON rule (tenant);
CREATE INDEX thread_base ON thread (base) WHERE base IS NOT NULL;
CREATE INDEX kept_base ON kept (base) WHERE base IS NOT NULL;
COMMIT;
