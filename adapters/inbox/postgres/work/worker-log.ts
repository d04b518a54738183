import { StorageError, type Logger } from "../../../../src/adapter.ts";
import type { Row } from "./lanes.ts";

/** What a worker tells whoever operates it. */
export interface WorkerLog {
  failed(error: StorageError): void;
  /** The server does not take how a job ended: it ends so. */
  refused(row: Row, to: "dead" | "removed", error: StorageError): void;
  /** A job has no delivery: it is removed. */
  orphaned(row: Row): void;
  /** Its body could not be read: it waits. */
  unread(row: Row, bytes: number, error: StorageError): void;
  /** A registration is over. @returns why nothing is claimed until the next one */
  over(worker: number, why: Over): StorageError;
}

/**
 * Another process took over; the server forgot what it had confirmed, or may have; no step held, though the server answers; or steps hold, and
 * there is no connection for anything else.
 */
export type Over = "taken-over" | "forgot" | "stalled" | "blind";

export function createWorkerLog(log: () => Logger): WorkerLog {
  return {
    failed: (error) =>
      log().error({ err: error, code: "inbox-failed" }, "a step of the worker failed: it is tried again"),
    refused: ({ id }, to, error) => log().error({ err: error, code: "settle-refused", jobId: String(id) }, REFUSED[to]),
    orphaned: ({ id, delivery }) =>
      log().error(
        { code: "job-without-delivery", jobId: String(id), deliveryId: String(delivery) },
        "the delivery of a job is not in the tables: the job is removed",
      ),
    unread: ({ id, delivery }, bytes, error) =>
      log().error(
        { err: error, code: "body-unread", jobId: String(id), deliveryId: String(delivery), bytes },
        "the body of a delivery could not be read: its job waits, and the body is read again in a minute",
      ),
    over(worker, why) {
      const { code, text } = OVER[why];
      log()[why === "taken-over" ? "warn" : "error"]({ code, worker }, text);
      return new StorageError(code, text);
    },
  };
}

const REFUSED = {
  dead: "PostgreSQL does not take how a job ended: it is a dead letter",
  removed: "PostgreSQL does not take a dead letter: its job is removed",
};

const OVER = {
  "taken-over": { code: "worker-lock-lost", text: "another process has taken over the jobs of this one" },
  forgot: {
    code: "history-lost",
    text: "the server was started anew, or has forgotten what it confirmed, as after a fail-over: jobs are loaded anew",
  },
  stalled: {
    code: "worker-stalled",
    text: "no step held for as long as the lease, though the server answers: this worker begins anew. The process stood still, or the log has why (inbox-failed), such as a lock of another session",
  },
  blind: {
    code: "worker-stalled",
    text: "no connection `hookline other` for twice the lease: the other processes take over the jobs of this one, which begins anew when it has one",
  },
};
