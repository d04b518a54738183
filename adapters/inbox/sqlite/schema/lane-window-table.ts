import type { DatabaseSync } from "node:sqlite";
import { isNumber, isText } from "./columns.ts";
import type { TextPage, WindowRecord } from "../thread/records.ts";

/** What lanes have inherited, in the file. */
export interface WindowTable {
  /** As `LoadedWindow`: a lane may be any. */
  windows(page: { readonly after: number; readonly limit: number }): TextPage;
  writeWindow(record: WindowRecord): void;
  /** Deletes windows that no waiting job can inherit any more. */
  sweepWindows(): void;
}

/** A window as it is loaded. */
export type LoadedWindow = readonly [lane: string, since: number, upTo: number];

export function createWindowTable(db: DatabaseSync): WindowTable {
  const sql = {
    page: db.prepare(/* sql */ `SELECT max(rowid) AS last, json_group_array(json_array(lane, since, up_to)) AS rows
       FROM (SELECT rowid, * FROM lane_window WHERE rowid > ? AND ${isText("lane")} AND ${isNumber("since")} AND ${isNumber("up_to")} ORDER BY rowid LIMIT ?)`),
    put: db.prepare("INSERT OR REPLACE INTO lane_window VALUES (?, ?, ?)"),
    remove: db.prepare("DELETE FROM lane_window WHERE lane = ?"),
    // The jobs are looked through only where there is a window.
    sweep: db.prepare(/* sql */ `DELETE FROM lane_window WHERE lane NOT IN
         (SELECT job.lane FROM job JOIN lane_window AS inherited ON inherited.lane = job.lane AND job.id <= inherited.up_to)`),
  };
  return {
    windows: ({ after, limit }) => sql.page.get(after, limit) as unknown as TextPage,
    writeWindow([lane, window]) {
      if (window === null) sql.remove.run(lane);
      else sql.put.run(lane, window.since, window.upTo);
    },
    sweepWindows: () => void sql.sweep.run(),
  };
}
