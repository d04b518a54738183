import type { Claim, WorkingInbox } from "hookline/adapter";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { systemClock } from "../../../src/clock.ts";
import { asWorking, asWriting } from "../../../src/inbox/port/inbox.ts";
import { toLogger } from "../../../src/logger.ts";

/** What a program does with a file. */
export interface Work {
  /** Takes what there is to do. @returns whether there may be more */
  step(inbox: WorkingInbox): Promise<boolean>;
  lost?(claims: readonly Claim[]): void;
}

export interface Working {
  readonly inbox: WorkingInbox;
  /** It has the worker's place. */
  works(): boolean;
  /** There may be something to do. */
  wake(): void;
}

/** Opens a file and asks for the worker's place: has it, it says `worker`, and takes one step after the other while there is something to do. */
export async function workOn(file: string, say: (line: string) => unknown, work: Work): Promise<Working> {
  const inbox = asWorking(asWriting(sqliteInbox(file)));
  if (inbox === undefined) throw new Error("It has no working half.");
  let works = false;
  let busy = false;
  let again = false;

  async function pump(of: WorkingInbox): Promise<void> {
    again = true;
    if (!works || busy) return;
    busy = true;
    while (again) {
      again = false;
      again = (await work.step(of)) || again;
    }
    busy = false;
  }

  const wake = (): void => void pump(inbox);
  await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 });
  await inbox.work({
    begin() {
      works = true;
      say("worker");
      wake();
    },
    end() {
      works = false;
      say("standby");
    },
    wake,
    lost: (claims) => work.lost?.(claims),
  });
  return { inbox, works: () => works, wake };
}
