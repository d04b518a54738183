import pg from "pg";
import { onTestFinished } from "vitest";
import type { PostgresOptions } from "../../../adapters/inbox/postgres/postgres-inbox.ts";
import type { Claim, WorkingInbox } from "../../../src/adapter.ts";
import { wallClock, type WallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder, type LogRecorder } from "../../support/log-recorder.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

/** A process that works. Its timers stand still until its clock is moved. */
export interface Process {
  readonly inbox: WorkingInbox;
  readonly clock: WallClock;
  readonly log: LogRecorder;
  readonly heard: { begun: number; ended: number; wakes: number; readonly lost: Claim[]; readonly causes: unknown[] };
}

export interface Processes {
  readonly sql: pg.Pool;
  /** @param role its login; the server's own without it */
  start(options?: Partial<PostgresOptions>, role?: string): Promise<Process>;
  /** Moves the clocks of all until something holds. */
  passing(check: () => Promise<void> | void): Promise<void>;
  rows<R>(statement: string, values?: readonly unknown[]): Promise<readonly R[]>;
}

/** Several processes on a database of the test's own, or on the one that is given. */
export async function openProcesses(given?: string): Promise<Processes> {
  const database = given === undefined ? await newDatabase() : { connectionString: given, drop: async () => {} };
  const { connectionString } = database;
  const sql = new pg.Pool({ connectionString, max: 3 });
  sql.on("error", () => {});
  const all: Process[] = [];
  onTestFinished(async () => {
    await Promise.all(all.map(({ inbox }) => inbox.close().catch(() => {})));
    await sql.end();
    await database.drop();
  });

  return {
    sql,
    async start(options = {}, role) {
      const [clock, log] = [wallClock(), logRecorder()];
      const url = new URL(connectionString);
      if (role !== undefined) [url.username, url.password] = [role, "p"];
      const inbox = openDatabase(url.href, options);
      await inbox.open({ name: "default", clock, log: log.logger, dedupeWindowMs: 86_400_000 });
      const heard: Process["heard"] = { begun: 0, ended: 0, wakes: 0, lost: [], causes: [] };
      const process = { inbox, clock, log, heard };
      all.push(process);
      await inbox.work({
        begin: () => void (heard.begun += 1),
        end(cause) {
          heard.ended += 1;
          if (cause !== undefined) heard.causes.push(cause);
        },
        wake: () => void (heard.wakes += 1),
        lost: (claims) => void heard.lost.push(...claims),
      });
      return process;
    },
    passing: (check) =>
      eventually(async () => {
        for (const { clock } of all) await clock.advance(600);
        await check();
      }),
    rows: async <R>(statement: string, values: readonly unknown[] = []) =>
      (await sql.query(statement, [...values])).rows as R[],
  };
}
