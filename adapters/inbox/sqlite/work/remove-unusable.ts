import type { Logger } from "../../../../src/adapter.ts";
import type { RemovedRow, RemovedRows, TableOfRows, UnusableRange } from "../thread/unusable-rows.ts";

/** Removes rows that nothing can handle, page by page, and logs each page. @returns what is gone */
export async function removeUnusable(
  range: UnusableRange,
  { step, log }: { readonly step: (range: UnusableRange) => Promise<RemovedRows>; readonly log: Logger },
): Promise<readonly RemovedRow[]> {
  const all: RemovedRow[] = [];
  for (let after: number | undefined = range.after; after !== undefined;) {
    const { rows, next }: RemovedRows = await step({ ...range, after });
    if (rows.length > 0) log.error(...toLine(range.from, rows));
    for (const row of rows) all.push(row); // more than a call takes as arguments
    after = next;
  }
  return all;
}

/** Of each page so many are named. */
const NAMED = 20;

const MESSAGES: Record<TableOfRows, string> = {
  unexpanded: "deliveries that are not in the file any more, or cannot be read, no longer wait to be expanded",
  job: "jobs were removed, because they or their deliveries are not in the file any more, or cannot be read",
  dead: "dead letters were removed, because they or their deliveries are not in the file any more, or cannot be read",
  unhandled:
    "unhandled jobs were removed, because they or their deliveries are not in the file any more, or cannot be read",
  job_list: "lists of jobs were removed, because their deliveries are not in the file any more, or cannot be read",
};

function toLine(from: TableOfRows, rows: readonly RemovedRow[]): [fields: object, message: string] {
  const named = rows.slice(0, NAMED);
  const jobs = from === "unexpanded" ? {} : { jobIds: named.map(([id]) => String(id)) };
  const deliveryIds = [...new Set(named.map(([, delivery]) => String(delivery)))];
  const code = from === "unexpanded" ? "delivery-unreadable" : "job-without-delivery";
  return [{ code, count: rows.length, ...jobs, deliveryIds }, MESSAGES[from]];
}
