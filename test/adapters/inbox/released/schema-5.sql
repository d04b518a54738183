-- A file of schema version 5, with rows of each kind. It never changes.
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, last_id INTEGER NOT NULL, unexpanded INTEGER NOT NULL,
    open INTEGER NOT NULL, running INTEGER NOT NULL, dead INTEGER NOT NULL, unhandled INTEGER NOT NULL, expired INTEGER NOT NULL,
    tombstones INTEGER NOT NULL, mark_version INTEGER NOT NULL, mark BLOB NOT NULL
  );
CREATE TABLE delivery (
    id INTEGER PRIMARY KEY, received_at INTEGER NOT NULL, sent_at INTEGER NOT NULL, source TEXT, signed_by TEXT NOT NULL,
    signature TEXT NOT NULL, headers TEXT NOT NULL, account INTEGER, subscription INTEGER, jobs TEXT, body BLOB NOT NULL
  );
CREATE TABLE job_list (
    first_job INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, account INTEGER, subscription INTEGER, jobs TEXT NOT NULL
  );
CREATE INDEX job_list_delivery ON job_list (delivery);
CREATE TABLE unexpanded (delivery INTEGER PRIMARY KEY, cursor INTEGER NOT NULL);
CREATE TABLE job (
    id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL, consumer TEXT NOT NULL,
    lane TEXT, merge_key TEXT, account INTEGER, subscription INTEGER, received_at INTEGER NOT NULL, replay_of INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0, group_max INTEGER, first_attempt_at INTEGER,
    run_at INTEGER NOT NULL DEFAULT 0, delay_ms INTEGER NOT NULL DEFAULT 0, error TEXT
  );
CREATE TABLE lane_window (lane TEXT PRIMARY KEY, since INTEGER NOT NULL, up_to INTEGER NOT NULL);
CREATE TABLE dead (
    id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL, consumer TEXT,
    account INTEGER, subscription INTEGER, received_at INTEGER NOT NULL, replay_of INTEGER, attempts INTEGER NOT NULL, error TEXT,
    settled_at INTEGER NOT NULL
  );
CREATE INDEX dead_type ON dead (type);
CREATE INDEX dead_account ON dead (account);
CREATE INDEX dead_settled_at ON dead (settled_at);
CREATE TABLE unhandled (
    id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL, consumer TEXT,
    account INTEGER, subscription INTEGER, received_at INTEGER NOT NULL, replay_of INTEGER, attempts INTEGER NOT NULL, error TEXT,
    settled_at INTEGER NOT NULL
  );
CREATE INDEX unhandled_type ON unhandled (type);
CREATE INDEX unhandled_account ON unhandled (account);
CREATE INDEX unhandled_settled_at ON unhandled (settled_at);
CREATE TABLE dedupe (key BLOB PRIMARY KEY, seen_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX dedupe_seen_at ON dedupe (seen_at);
CREATE TABLE tombstone (
    subscription INTEGER NOT NULL, source TEXT NOT NULL, any_source INTEGER NOT NULL, reason TEXT NOT NULL,
    since INTEGER NOT NULL, last_hit INTEGER NOT NULL, PRIMARY KEY (subscription, any_source, source)
  ) WITHOUT ROWID;
CREATE TABLE subscription (
    seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subscription INTEGER NOT NULL, account INTEGER NOT NULL, resource TEXT NOT NULL,
    source TEXT, error TEXT, sent_at INTEGER NOT NULL
  );
CREATE TABLE subscribed_resource (
    id INTEGER PRIMARY KEY, source TEXT, subscription INTEGER NOT NULL, account INTEGER NOT NULL, resource TEXT NOT NULL, family TEXT NOT NULL,
    seen_at INTEGER NOT NULL, told_at INTEGER NOT NULL DEFAULT 0, cause TEXT, from_at INTEGER, until_at INTEGER
  );
CREATE UNIQUE INDEX subscribed_resource_key ON subscribed_resource (account, resource, subscription, ifnull(source, 0));
CREATE INDEX subscribed_resource_subscription ON subscribed_resource (subscription);
CREATE INDEX subscribed_resource_seen_at ON subscribed_resource (seen_at) WHERE from_at IS NULL;
CREATE INDEX subscribed_resource_gap ON subscribed_resource (id) WHERE from_at IS NOT NULL;
CREATE TABLE key_value (key TEXT PRIMARY KEY, value TEXT NOT NULL, account INTEGER) WITHOUT ROWID;
CREATE INDEX key_value_account ON key_value (account);
CREATE TABLE request (
    id INTEGER PRIMARY KEY, verb TEXT NOT NULL, selection TEXT, cursor INTEGER, count INTEGER NOT NULL DEFAULT 0,
    asked_at INTEGER NOT NULL, answered_at INTEGER, error TEXT
  );
CREATE INDEX request_answered_at ON request (answered_at);
CREATE TABLE ended_count (
  state TEXT NOT NULL, type TEXT NOT NULL, consumer TEXT NOT NULL, error TEXT NOT NULL, count INTEGER NOT NULL, newest_at INTEGER NOT NULL,
  PRIMARY KEY (state, type, consumer, error)
) WITHOUT ROWID;
CREATE INDEX ended_count_count ON ended_count (state, count);
CREATE INDEX dead_group ON dead (type, consumer, CASE WHEN json_valid(error) THEN ifnull(error ->> '$.name', '') ELSE '' END);
CREATE TRIGGER dead_added AFTER INSERT ON dead BEGIN
  INSERT INTO ended_count VALUES ('dead', new.type, ifnull(new.consumer, ''), CASE WHEN json_valid(new.error) THEN ifnull(new.error ->> '$.name', '') ELSE '' END, 1, new.settled_at)
    ON CONFLICT DO UPDATE SET count = count + 1, newest_at = max(newest_at, excluded.newest_at);
END;
CREATE TRIGGER dead_removed AFTER DELETE ON dead BEGIN
  UPDATE ended_count SET count = count - 1 WHERE state = 'dead' AND type = old.type AND consumer = ifnull(old.consumer, '') AND error = CASE WHEN json_valid(old.error) THEN ifnull(old.error ->> '$.name', '') ELSE '' END;
  DELETE FROM ended_count WHERE state = 'dead' AND count < 1;
END;
CREATE TRIGGER unhandled_added AFTER INSERT ON unhandled BEGIN
  INSERT INTO ended_count VALUES ('unhandled', new.type, ifnull(new.consumer, ''), CASE WHEN json_valid(new.error) THEN ifnull(new.error ->> '$.name', '') ELSE '' END, 1, new.settled_at)
    ON CONFLICT DO UPDATE SET count = count + 1, newest_at = max(newest_at, excluded.newest_at);
END;
CREATE TRIGGER unhandled_removed AFTER DELETE ON unhandled BEGIN
  UPDATE ended_count SET count = count - 1 WHERE state = 'unhandled' AND type = old.type AND consumer = ifnull(old.consumer, '') AND error = CASE WHEN json_valid(old.error) THEN ifnull(old.error ->> '$.name', '') ELSE '' END;
  DELETE FROM ended_count WHERE state = 'unhandled' AND count < 1;
END;
CREATE INDEX job_retry ON job (run_at) WHERE run_at > 0;
CREATE INDEX job_retry_lane ON job (lane) WHERE run_at > 0;
INSERT INTO meta VALUES ('alive', 1767323045000);
INSERT INTO meta VALUES ('name', 'default');
INSERT INTO state VALUES (1, 1, 26, 2, 6, 5, 2, 2, 0, 1, 12, x'00000000000018400080c898cab779420000000000002e400080c898cab7794200000000000031400080c898cab7794200000000000035400080c898cab7794200000000000037400080c898cab77942');
INSERT INTO delivery VALUES (1, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated","default","default done",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"done","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (3, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated","default","window",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"dies of its window","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (5, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated","default","window",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"inherits","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (7, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated","default","default dead",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"dead","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (9, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated","default","default retried",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"retried","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (11, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated"]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"nobody''s","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (13, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated"],[1,"email.updated","default","default beside skipped",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"skipped","changeType":"updated"},{"id":"beside skipped","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (16, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"tracking.open","default","default 0",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/tracking","payloads":[{"id":1,"eventType":"open","createdAt":"2026-05-06T07:08:09Z","trackingId":88}]}' AS BLOB));
INSERT INTO delivery VALUES (18, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"lifecycle.error"]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","lifecycleEvent":"error","error":"The token has expired."}' AS BLOB));
INSERT INTO delivery VALUES (20, 1767323041000, 1767323040000, 'crm', 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', 2002, 1001, '[[0,"email.updated","default","default with source",null]]', CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"with source","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (24, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', NULL, NULL, NULL, CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"unexpanded","changeType":"updated"}]}' AS BLOB));
INSERT INTO delivery VALUES (25, 1767323041000, 1767323040000, NULL, 'default', '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', '{"x-aurinko-signature":"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8","x-aurinko-request-timestamp":"1767323040"}', NULL, NULL, NULL, CAST('{"subscription":1001,"accountId":2002,"resource":"/email/messages","payloads":[{"id":"behind it","changeType":"updated"}]}' AS BLOB));
INSERT INTO job_list VALUES (23, 1, 2002, 1001, '[[0,"email.updated","default","default done",null]]');
INSERT INTO unexpanded VALUES (24, 0);
INSERT INTO unexpanded VALUES (25, 0);
INSERT INTO job VALUES (6, 5, 0, 'email.updated', 'default', 'window', NULL, 2002, 1001, 1767323041000, NULL, 0, 0, NULL, NULL, 0, 0, NULL);
INSERT INTO job VALUES (10, 9, 0, 'email.updated', 'default', 'default retried', NULL, 2002, 1001, 1767323041000, NULL, 1, 0, NULL, 1767323045000, 1767323105000, 60000, '{"name":"Error","message":"no","at":1767323045000}');
INSERT INTO job VALUES (15, 13, 1, 'email.updated', 'default', 'default beside skipped', NULL, 2002, 1001, 1767323041000, NULL, 0, 0, NULL, NULL, 0, 0, NULL);
INSERT INTO job VALUES (17, 16, 0, 'tracking.open', 'default', 'default 0', NULL, 2002, 1001, 1767323041000, NULL, 0, 0, NULL, NULL, 0, 0, NULL);
INSERT INTO job VALUES (21, 20, 0, 'email.updated', 'default', 'default with source', NULL, 2002, 1001, 1767323041000, NULL, 0, 0, NULL, NULL, 0, 0, NULL);
INSERT INTO job VALUES (23, 1, 0, 'email.updated', 'default', 'default done', NULL, 2002, 1001, 1767323041000, 2, 0, 0, NULL, NULL, 0, 0, NULL);
INSERT INTO lane_window VALUES ('window', 1767323045000, 6);
INSERT INTO dead VALUES (4, 3, 0, 'email.updated', 'default', 2002, 1001, 1767323041000, NULL, 1, '{"name":"Error","message":"no","at":1767323045000}', 1767323045000);
INSERT INTO dead VALUES (8, 7, 0, 'email.updated', 'default', 2002, 1001, 1767323041000, NULL, 1, '{"name":"Error","message":"it cannot be handled","at":1767323045000}', 1767323045000);
INSERT INTO unhandled VALUES (12, 11, 0, 'email.updated', NULL, 2002, 1001, 1767323041000, NULL, 0, NULL, 1767323041000);
INSERT INTO unhandled VALUES (19, 18, 0, 'lifecycle.error', NULL, 2002, 1001, 1767323041000, NULL, 0, NULL, 1767323041000);
INSERT INTO dedupe VALUES (x'afb33829936ea698835090383a803955', 1767323045000);
INSERT INTO dedupe VALUES (x'c2720445a45267813688ff73fa188aa0', 1767323045000);
INSERT INTO tombstone VALUES (77, '', 1, 'not ours', 1767323045000, 1767323045000);
INSERT INTO subscription VALUES (1, '[null,1001,"/email/messages"]', 1001, 2002, '/email/messages', NULL, 'The token has expired.', 1767323040000);
INSERT INTO subscribed_resource VALUES (1, NULL, 1001, 2002, '/email/messages', 'email', 1767323045000, 0, NULL, NULL, NULL);
INSERT INTO subscribed_resource VALUES (2, 'crm', 1002, 2003, '/calendars/7/events', 'calendarEvent', 1767323046000, 0, 'down', 1767323045000, 1767323046000);
INSERT INTO key_value VALUES ('sync token', 'value', 2002);
INSERT INTO request VALUES (22, 'replay', NULL, NULL, 1, 1767323045000, 1767323045000, NULL);
INSERT INTO request VALUES (26, 'drop', '{"ids":["999"]}', 0, 0, 1767323045000, NULL, NULL);
PRAGMA application_id = 1212894286; PRAGMA user_version = 5;
