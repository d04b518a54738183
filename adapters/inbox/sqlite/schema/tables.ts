import type { DatabaseSync } from "node:sqlite";
import { FileError } from "../connection/file-errors.ts";
import { APPLICATION_ID, assertOurs, kindOf } from "../connection/file-kind.ts";
import { isKey, isNumber } from "./columns.ts";
import { addEndedCount, ENDED_COUNT } from "./ended-counts.ts";

/** What a file has that this Hookline wrote. */
export const SCHEMA_VERSION = 5;

function endedTable(name: "dead" | "unhandled"): string {
  return /* sql */ `
  CREATE TABLE ${name} (
    id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL, consumer TEXT,
    account INTEGER, subscription INTEGER, received_at INTEGER NOT NULL, replay_of INTEGER, attempts INTEGER NOT NULL, error TEXT,
    settled_at INTEGER NOT NULL
  );
  CREATE INDEX ${name}_type ON ${name} (type);
  CREATE INDEX ${name}_account ON ${name} (account);
  CREATE INDEX ${name}_settled_at ON ${name} (settled_at);`;
}

/** Jobs that failed before: those of blocked lanes. The others are in no index. */
const RETRY_INDEXES = /* sql */ `CREATE INDEX job_retry ON job (run_at) WHERE run_at > 0;
  CREATE INDEX job_retry_lane ON job (lane) WHERE run_at > 0;`;

/**
 * A delivery's row is written once, and never again while it is expanded: it carries the body. Where that is removed, headers are an empty list. A job that is claimed in the commit that makes
 * it has no row of its own: as long as it is open, the mark in `state` names it.
 */
const TABLES = /* sql */ `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

  -- epoch: of the process that works; a commit with an older one changes nothing. last_id: the last id given, to a delivery, a job or a request.
  -- open: jobs that are not settled. expired: dead letters that had their time. tombstones: grows with each change of that table.
  -- mark: the jobs that may be running; see running-mark.ts. mark_version grows with each change of it.
  CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, last_id INTEGER NOT NULL, unexpanded INTEGER NOT NULL,
    open INTEGER NOT NULL, running INTEGER NOT NULL, dead INTEGER NOT NULL, unhandled INTEGER NOT NULL, expired INTEGER NOT NULL,
    tombstones INTEGER NOT NULL, mark_version INTEGER NOT NULL, mark BLOB NOT NULL
  );
  INSERT INTO state VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, x'');

  -- What was received, byte for byte. jobs: the list of the jobs that were made in one commit with it, with ids from its own + 1 on; null where
  -- there is none. A job that is listed, and is neither in the mark nor in job, dead or unhandled, is done (or skipped, where it has no consumer).
  CREATE TABLE delivery (
    id INTEGER PRIMARY KEY, received_at INTEGER NOT NULL, sent_at INTEGER NOT NULL, source TEXT, signed_by TEXT NOT NULL,
    signature TEXT NOT NULL, headers TEXT NOT NULL, account INTEGER, subscription INTEGER, jobs TEXT, body BLOB NOT NULL
  );

  -- Lists of jobs that were made later than their delivery: when it was expanded, or replayed.
  CREATE TABLE job_list (
    first_job INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, account INTEGER, subscription INTEGER, jobs TEXT NOT NULL
  );
  CREATE INDEX job_list_delivery ON job_list (delivery);

  -- Deliveries with entries that are not jobs yet. cursor: the entry to go on with.
  CREATE TABLE unexpanded (delivery INTEGER PRIMARY KEY, cursor INTEGER NOT NULL);

  -- Open jobs that waited or failed. No index on most: lanes are in the memory of the process that works.
  CREATE TABLE job (
    id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL, entry INTEGER NOT NULL, type TEXT NOT NULL, consumer TEXT NOT NULL,
    lane TEXT, merge_key TEXT, account INTEGER, subscription INTEGER, received_at INTEGER NOT NULL, replay_of INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0, group_max INTEGER, first_attempt_at INTEGER,
    run_at INTEGER NOT NULL DEFAULT 0, delay_ms INTEGER NOT NULL DEFAULT 0, error TEXT
  );

  ${RETRY_INDEXES}

  -- What a lane has inherited: when the first attempt was of a job that died of its window, for those up to an id that waited behind it.
  CREATE TABLE lane_window (lane TEXT PRIMARY KEY, since INTEGER NOT NULL, up_to INTEGER NOT NULL);

  -- Dead and unhandled jobs. Their delivery, and the list that has their lanes, stay as long as they do.
  ${endedTable("dead")}
  ${endedTable("unhandled")}
  ${ENDED_COUNT}

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

  -- What subscriptions delivered, and where something of it may be missing: a gap goes from from_at, null where there is none, until until_at, null
  -- where it goes on. seen_at: of the last delivery. told_at: of the last error or its end. The last mark of a process that was alive is in meta.
  CREATE TABLE subscribed_resource (
    id INTEGER PRIMARY KEY, source TEXT, subscription INTEGER NOT NULL, account INTEGER NOT NULL, resource TEXT NOT NULL, family TEXT NOT NULL,
    seen_at INTEGER NOT NULL, told_at INTEGER NOT NULL DEFAULT 0, cause TEXT, from_at INTEGER, until_at INTEGER
  );
  -- The 0 is of no source: another than any text.
  CREATE UNIQUE INDEX subscribed_resource_key ON subscribed_resource (account, resource, subscription, ifnull(source, 0));
  CREATE INDEX subscribed_resource_subscription ON subscribed_resource (subscription);
  CREATE INDEX subscribed_resource_seen_at ON subscribed_resource (seen_at) WHERE from_at IS NULL;
  CREATE INDEX subscribed_resource_gap ON subscribed_resource (id) WHERE from_at IS NOT NULL;

  -- Small texts of other modules, such as the tokens of a delta sync.
  CREATE TABLE key_value (key TEXT PRIMARY KEY, value TEXT NOT NULL, account INTEGER) WITHOUT ROWID;
  CREATE INDEX key_value_account ON key_value (account);

  -- Admin requests, in the order of asking. Ids are of the same count as those of jobs: what is above one came after it.
  -- selection: JSON; once answered, what was erased, or null. cursor: how far it has come; null when only the bytes of what was erased are to be overwritten.
  -- error: why it could not be done.
  CREATE TABLE request (
    id INTEGER PRIMARY KEY, verb TEXT NOT NULL, selection TEXT, cursor INTEGER, count INTEGER NOT NULL DEFAULT 0,
    asked_at INTEGER NOT NULL, answered_at INTEGER, error TEXT
  );
  CREATE INDEX request_answered_at ON request (answered_at);
`;

/** What a version of Hookline makes of a file. */
export interface SchemaPlan {
  readonly version: number;
  /** Of a new file. */
  readonly tables: string;
  /** From each version to the next, from `OLDEST_VERSION` on. */
  readonly conversions: readonly Conversion[];
}

/**
 * All that are due are one transaction, with the new version: a process that is killed in it, and a disk that has no room for it, leave the
 * file as it was. The transaction stands in the log until it is committed, and nobody else can use the file meanwhile: so a conversion adds a
 * column, a table or an index, and does not write the bodies of deliveries anew.
 * @param alive to be called now and then by what takes minutes
 */
type Conversion = (db: DatabaseSync, alive: () => void) => void;

/** The first version that was released: older files are not converted. */
export const OLDEST_VERSION = 4;

export const CURRENT: SchemaPlan = {
  version: SCHEMA_VERSION,
  tables: TABLES,
  conversions: [
    (db) => {
      addEndedCount(db);
      db.exec(RETRY_INDEXES);
    },
  ],
};

/**
 * Makes a new file's tables.
 * @throws FileError `not-an-inbox`, `schema-newer`, `schema-older`, `name-differs`
 */
export function prepareSchema(db: DatabaseSync, name: string, plan: SchemaPlan = CURRENT): void {
  const file = String(db.location());
  db.exec("BEGIN IMMEDIATE");
  try {
    // What was looked at before the file was opened may have been written since.
    assertOurs(kindOf(db), file);
    const version = versionOf(db);
    if (version === 0)
      db.exec(`${plan.tables} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${plan.version}`);
    else assertVersion(version, file, plan);
    db.prepare("INSERT OR IGNORE INTO meta VALUES ('name', ?)").run(name);
    const owner = db.prepare("SELECT value FROM meta WHERE key = 'name'").get()?.["value"];
    if (owner !== name)
      throw new FileError("name-differs", `${file} belongs to the receiver "${String(owner)}", not "${name}".`, {
        fix: "Give each receiver a file of its own, or the `name` that the file has.",
      });
    restoreState(db);
    restoreIndexes(db, plan);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

export function versionOf(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
}

/** @throws FileError `schema-newer`, `schema-older` */
export function assertVersion(version: number, file: string, plan: SchemaPlan = CURRENT): void {
  if (version === plan.version) return;
  const message = `${file} has schema version ${version}, this Hookline knows version ${plan.version}.`;
  if (version > plan.version)
    throw new FileError("schema-newer", message, { fix: "Run the version of Hookline that wrote it, or a newer one." });
  throw new FileError("schema-older", message, {
    fix:
      version >= OLDEST_VERSION
        ? "Start the receiver with this version of Hookline once: it converts the file. What only looks at it does not."
        : "Let the version of Hookline that wrote it handle what waits, then move the file away: a new one is made.",
  });
}

/**
 * A damaged file may have lost its one row of `state` when it was repaired, or has numbers there that cannot be read. No id may come twice, and
 * no epoch: counts are made anew when a process takes over the work.
 */
function restoreState(db: DatabaseSync): void {
  const numbers = ["epoch", "last_id", ...COUNTS, "mark_version"];
  if (db.prepare(`SELECT 1 FROM state WHERE ${numbers.map(isNumber).join(" AND ")}`).get() !== undefined) return;
  const length = "CASE WHEN json_valid(jobs) THEN json_array_length(jobs) ELSE 0 END";
  const ids = [
    `SELECT id + ${length} AS id FROM delivery`,
    `SELECT first_job + ${length} FROM job_list`,
    ...["job", "dead", "unhandled", "request"].map((table) => `SELECT id FROM ${table}`),
  ];
  const lastId = `(SELECT coalesce(max(id), 0) FROM (${ids.join(" UNION ALL ")}) WHERE ${isKey("id")})`;
  const restored = [
    orElse("epoch", ":now"),
    orElse("last_id", lastId),
    ...COUNTS.map((column) => orElse(column, "0")),
    orElse("mark_version", ":now"),
  ];
  db.prepare(
    `INSERT OR REPLACE INTO state SELECT 1, ${restored.join(", ")}, ifnull(mark, x'') FROM (SELECT 1) LEFT JOIN state ON true`,
  ).run({ now: Date.now() });
}

const orElse = (column: string, value: string): string =>
  `CASE WHEN ${isNumber(column)} THEN ${column} ELSE ${value} END`;

const COUNTS = ["unexpanded", "open", "running", "dead", "unhandled", "expired", "tombstones"] as const;

/** Indexes, and triggers, that were not made again when a damaged file was repaired, because rows were doubled: without them nothing could be written. */
function restoreIndexes(db: DatabaseSync, { tables }: SchemaPlan): void {
  const there = new Set(
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type IN ('index', 'trigger')")
      .all()
      .map(({ name }) => name),
  );
  for (const [sql, index, trigger] of tables.matchAll(
    /CREATE (?:(?:UNIQUE )?INDEX (\w+) [^;]+;|TRIGGER (\w+) .+?\n  END;)/gs,
  )) {
    if (there.has(index ?? trigger ?? "")) continue;
    if (index === "subscribed_resource_key") db.exec(REMOVE_DOUBLED);
    db.exec(sql);
  }
}

/** One stays, with a gap where there is one. */
const REMOVE_DOUBLED = /* sql */ `
  DELETE FROM subscribed_resource WHERE id IN (SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY account, resource, subscription, ifnull(source, 0) ORDER BY from_at IS NULL, id) AS nth
    FROM subscribed_resource) WHERE nth > 1)`;
