import { lookAtDatabase } from "../../../adapters/inbox/postgres/inspect/inspect-database.ts";
import { toPlain } from "../terminal/escape-terminal.ts";
import { grouped, sizeText } from "../terminal/format.ts";
import type { Place } from "./place.ts";
import type { InboxStats } from "./stats.ts";

/** What `hookline inbox stats` prints of an inbox in PostgreSQL. */
export async function databaseStats(
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
