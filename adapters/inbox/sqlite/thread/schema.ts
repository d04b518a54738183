import type { DatabaseSync } from "node:sqlite";
import { FileError } from "../disk/file-errors.ts";
import { APPLICATION_ID, assertOurs, kindOf } from "../disk/file-kind.ts";

/** Each brings the schema from its index to the next version, within the transaction that opens the file. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

  -- How much there is, and the last id given, to a delivery or to a job.
  CREATE TABLE counter (
    one INTEGER PRIMARY KEY CHECK (one = 1), last_id INTEGER NOT NULL, unexpanded INTEGER NOT NULL, unsettled INTEGER NOT NULL,
    running INTEGER NOT NULL, dead INTEGER NOT NULL, unhandled INTEGER NOT NULL
  );
  INSERT INTO counter VALUES (1, 0, 0, 0, 0, 0, 0);

  -- What was received, byte for byte. From the commit that expands it a row lists its jobs: [id, entry, type, consumer, lane, merge key, skipped].
  -- A job listed there that is in neither job nor dead is done. cursor: the entry to go on with; null when wholly expanded.
  CREATE TABLE delivery (
    id INTEGER PRIMARY KEY, received_at INTEGER NOT NULL, sent_at INTEGER NOT NULL, source TEXT, signed_by TEXT NOT NULL,
    signature TEXT NOT NULL, headers TEXT NOT NULL, account INTEGER, subscription INTEGER, body BLOB NOT NULL,
    cursor INTEGER, jobs TEXT NOT NULL DEFAULT '[]'
  );
  CREATE INDEX delivery_unexpanded ON delivery (id) WHERE cursor IS NOT NULL;

  -- Whose the jobs from an id on are, up to the next id given to a delivery or listed here: those that were not made in one commit with it.
  CREATE TABLE later (first_job INTEGER PRIMARY KEY, delivery INTEGER NOT NULL);

  -- Unsettled jobs alone. No index: lanes live in the memory of the process that works.
  CREATE TABLE job (
    id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL, consumer TEXT NOT NULL,
    lane TEXT, merge_key TEXT, received_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0,
    group_max INTEGER, first_attempt_at INTEGER, run_at INTEGER NOT NULL DEFAULT 0, delay_ms INTEGER NOT NULL DEFAULT 0, error TEXT, replay_of INTEGER
  );

  -- What a lane has inherited: when the first attempt was of a job that died of its window, for those up to an id that waited behind it.
  CREATE TABLE lane_window (lane TEXT PRIMARY KEY, since INTEGER NOT NULL, up_to INTEGER NOT NULL);

  -- Dead and unhandled jobs, each with its own copy of the delivery: they outlive it.
  CREATE TABLE dead (
    id INTEGER PRIMARY KEY, state TEXT NOT NULL, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL,
    consumer TEXT, lane TEXT, merge_key TEXT, attempts INTEGER NOT NULL, error TEXT, replay_of INTEGER, settled_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL, sent_at INTEGER NOT NULL, source TEXT, signed_by TEXT NOT NULL, signature TEXT NOT NULL,
    headers TEXT NOT NULL, account INTEGER, subscription INTEGER, body BLOB NOT NULL
  );
  CREATE INDEX dead_unhandled ON dead (settled_at) WHERE state = 'unhandled';

  -- Natural keys of tracking and booking, hashed to 16 bytes.
  CREATE TABLE dedupe (key BLOB PRIMARY KEY, seen_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX dedupe_seen_at ON dedupe (seen_at);

  CREATE TABLE tombstone (
    subscription INTEGER NOT NULL, source TEXT NOT NULL, any_source INTEGER NOT NULL, reason TEXT NOT NULL,
    since INTEGER NOT NULL, last_hit INTEGER NOT NULL, PRIMARY KEY (subscription, any_source, source)
  ) WITHOUT ROWID;

  -- What the newest lifecycle notice said of each resource of a subscription, in the order of telling; error: null where it works.
  CREATE TABLE subscription (
    seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subscription INTEGER NOT NULL, account INTEGER NOT NULL, resource TEXT NOT NULL,
    source TEXT, error TEXT, sent_at INTEGER NOT NULL
  );

  -- Who works: a commit with an older epoch changes nothing. running: when each job that may be running was claimed, by id.
  CREATE TABLE owner (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, running TEXT NOT NULL);
  INSERT INTO owner VALUES (1, 0, '{}');

  -- What is to be done by hand, in the order of asking. Ids are of the same count as those of jobs: what is above one came after it.
  -- selection: JSON; null once answered. cursor: how far it has come; null when only the bytes of what was erased are to be overwritten.
  -- error: why it could not be done.
  CREATE TABLE request (
    id INTEGER PRIMARY KEY, verb TEXT NOT NULL, selection TEXT, cursor INTEGER, count INTEGER NOT NULL DEFAULT 0,
    asked_at INTEGER NOT NULL, answered_at INTEGER, error TEXT
  );
  CREATE INDEX request_answered_at ON request (answered_at);
  `,
];

/** What a file has that this Hookline wrote. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Makes a new file's tables, or brings an older file up to date. @throws FileError `not-an-inbox`, `schema-newer`, `name-differs` */
export function migrate(db: DatabaseSync, name: string): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    // What was looked at before the file was opened may have been written since.
    assertOurs(kindOf(db));
    const version = Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version > MIGRATIONS.length)
      throw new FileError(
        "schema-newer",
        `The inbox file has schema version ${version}, this Hookline knows up to ${MIGRATIONS.length}.`,
        { fix: "Run the version of Hookline that wrote it, or a newer one." },
      );
    for (const step of MIGRATIONS.slice(version)) db.exec(step);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
    db.prepare("INSERT OR IGNORE INTO meta VALUES ('name', ?)").run(name);
    const owner = db.prepare("SELECT value FROM meta WHERE key = 'name'").get()?.["value"];
    if (owner !== name)
      throw new FileError("name-differs", `The inbox file belongs to the receiver "${String(owner)}", not "${name}".`, {
        fix: "Give each receiver a file of its own, or the `name` that the file has.",
      });
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
