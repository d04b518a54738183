import type { Logger } from "../../../src/adapter.ts";

/** Tells of rows that are gone from the tables, or that PostgreSQL cannot read. */
export interface LossLog {
  /** @param what becomes of the delivery */
  unreadable(what: keyof typeof UNREADABLE, delivery: string | number, error: unknown): void;
  /** Of deliveries that waited to be expanded. */
  missing(deliveries: readonly string[]): void;
  /** Unhandled jobs, because their deliveries are not in the tables. */
  removed(jobs: readonly number[]): void;
}

/** So many are named in a line. */
const NAMED = 20;

const UNREADABLE = {
  unexpanded: "PostgreSQL cannot read a delivery: it is to be an unhandled job",
  unhandled: "PostgreSQL cannot read a delivery: its unhandled jobs stay as they are",
  erased: "PostgreSQL cannot read a delivery: whether it is of the account that is erased is not known",
};

/** @param log undefined: nobody is told */
export function createLossLog(log: () => Pick<Logger, "error"> | undefined): LossLog {
  return {
    unreadable: (what, delivery, err) =>
      log()?.error({ err, code: "delivery-unreadable", deliveryId: String(delivery) }, UNREADABLE[what]),
    missing: (deliveries) =>
      log()?.error(
        { code: "delivery-unreadable", count: deliveries.length, deliveryIds: deliveries.slice(0, NAMED) },
        "deliveries that are not in the tables any more no longer wait to be expanded",
      ),
    removed: (jobs) =>
      log()?.error(
        { code: "job-without-delivery", count: jobs.length, jobIds: jobs.slice(0, NAMED).map(String) },
        "unhandled jobs were removed, because their deliveries are not in the tables any more",
      ),
  };
}
