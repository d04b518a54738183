import { DatabaseSync } from "node:sqlite";
import { decodeMark } from "../../../adapters/inbox/sqlite/thread/running-mark.ts";

/** Where the file has a job: in a table, or as a fresh one in the mark alone. Nowhere: it is done, or was skipped. */
export type Place = "job" | "dead" | "unhandled" | "fresh" | "nowhere";

export interface JobPlaces {
  /** Ids of all deliveries. */
  readonly deliveries: ReadonlySet<string>;
  /** By id, in the order of ids: each job that has a consumer. */
  readonly places: ReadonlyMap<string, Place>;
  /** By id. */
  readonly lanes: ReadonlyMap<string, string | undefined>;
}

/** Reads the tables of a file and its mark, as they are. @throws Error where a job is in two places, or the counters are wrong */
export function readPlaces(file: string): JobPlaces {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const mark = decodeMark(db.prepare("SELECT mark FROM state").get()?.["mark"] as Uint8Array);
    const idsIn = (table: string): Set<number> =>
      new Set(
        db
          .prepare(`SELECT id FROM ${table}`)
          .all()
          .map(({ id }) => Number(id)),
      );
    const [rows, dead, unhandled] = [idsIn("job"), idsIn("dead"), idsIn("unhandled")];
    const fresh = new Set([...mark.entries()].flatMap(({ id, isFresh }) => (isFresh ? id : [])));
    for (const { id, isFresh } of mark.entries())
      if (!isFresh && !rows.has(id)) throw new Error(`Job ${id} is marked, and has no row.`);
    const [places, lanes] = [new Map<string, Place>(), new Map<string, string | undefined>()];
    const lists = db
      .prepare(
        "SELECT id + 1 AS first, jobs FROM delivery UNION ALL SELECT first_job, jobs FROM job_list ORDER BY first",
      )
      .all();
    for (const { first, jobs } of lists)
      for (const [index, line] of (JSON.parse(String(jobs ?? "[]")) as (readonly unknown[] | 0)[]).entries()) {
        const id = Number(first) + index;
        if (line === 0 || line[2] === undefined) continue;
        const found = Object.entries({ job: rows, dead, unhandled, fresh }).filter(([, ids]) => ids.has(id));
        if (found.length > 1) throw new Error(`Job ${id} is in ${found.map(([name]) => name).join(" and ")}.`);
        places.set(String(id), (found[0]?.[0] ?? "nowhere") as Place);
        lanes.set(String(id), (line[3] ?? undefined) as string | undefined);
      }
    const counts = db.prepare("SELECT open, running, dead, unhandled FROM state").get();
    const there = { open: rows.size + fresh.size, running: mark.size, dead: dead.size, unhandled: unhandled.size };
    if (JSON.stringify(counts) !== JSON.stringify(there))
      throw new Error(`The file counts ${JSON.stringify(counts)}, and has ${JSON.stringify(there)}.`);
    const deliveries = db.prepare("SELECT id FROM delivery").all();
    return { deliveries: new Set(deliveries.map(({ id }) => String(id))), places, lanes };
  } finally {
    db.close();
  }
}
