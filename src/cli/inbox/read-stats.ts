import { lookAtDatabase } from "../../../adapters/inbox/postgres/inspect/inspect-database.ts";
import { lookAtFile, statsOfFile } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { isConnectionString } from "../flags.ts";
import { toPlain } from "../terminal/escape-terminal.ts";
import { grouped, sizeText } from "../terminal/format.ts";
import type { Place } from "./with-inbox.ts";

/** What there is of an inbox, of whichever kind. */
export interface InboxStats {
  readonly json: object;
  /** Where it is. */
  readonly where: Facts;
  readonly receiver: string;
  readonly schemaVersion: number;
  readonly isWorkedOn: boolean;
  readonly waiting: number;
  readonly running: number;
  readonly unexpanded: number;
  readonly blockedLanes: number;
  readonly dead: number;
  readonly expired: number;
  readonly unhandled: number;
  readonly tombstones: number;
  readonly oldestWaitingAt: Date | undefined;
  /** On the disk. */
  readonly sizes: Facts;
}

type Facts = readonly (readonly [name: string, value: string])[];

/** Counts and sizes of an inbox, without writing into it. */
export async function readStats({ inbox, schema }: Place & { readonly inbox: string }): Promise<InboxStats> {
  return isConnectionString(inbox) ? databaseStats(inbox, { schema }, Date.now()) : fileStats(inbox, Date.now());
}

function fileStats(file: string, now: number): InboxStats {
  const { path, name, schemaVersion, isWorkedOn } = lookAtFile(file);
  const { oldestUnexpandedAt, oldestOpenAt, ...counts } = statsOfFile(path, now);
  const oldest = Math.min(oldestUnexpandedAt ?? Infinity, oldestOpenAt ?? Infinity);
  const oldestWaitingAt = oldest === Infinity ? undefined : new Date(oldest);
  const json = { file, receiver: name, schemaVersion, isWorkedOn, ...counts, oldestWaitingAt };
  return {
    ...json,
    json,
    where: [["file", toPlain(file)]],
    sizes: [
      ["file size", sizeText(counts.fileBytes)],
      ["write-ahead log", sizeText(counts.walBytes)],
      ["free disk", sizeText(counts.freeDiskBytes)],
    ],
  };
}

async function databaseStats(
  connectionString: string,
  { schema: wanted }: Pick<Place, "schema">,
  now: number,
): Promise<InboxStats> {
  const looked = await lookAtDatabase({ connectionString, schema: wanted });
  try {
    const { schema, name: receiver, schemaVersion } = looked.facts;
    const [{ beats: _, oldestWaitingAt: oldest, ...counts }, workers] = await Promise.all([
      looked.stats(now),
      looked.workersAlive(),
    ]);
    const database = withoutPassword(connectionString);
    const oldestWaitingAt = oldest === undefined ? undefined : new Date(oldest);
    const isWorkedOn = workers > 0;
    const json = { database, schema, receiver, schemaVersion, isWorkedOn, workers, ...counts, oldestWaitingAt };
    return {
      ...json,
      json,
      where: [
        ["database", toPlain(database)],
        ["schema", toPlain(schema)],
        ["workers", grouped(workers)],
      ],
      sizes: [
        ["open jobs", sizeText(counts.jobBytes)],
        ["deliveries", sizeText(counts.deliveryBytes)],
        ["all tables", sizeText(counts.tableBytes)],
        ["database size", sizeText(counts.databaseBytes)],
      ],
    };
  } finally {
    await looked.close();
  }
}

/** Nor what stands behind a question mark, where a password may be as well. */
function withoutPassword(connectionString: string): string {
  return connectionString.replace(/[?#].*$/s, "").replace(/(?<=^[^:]*:\/\/[^/]*?):.*(?=@)/s, "");
}
