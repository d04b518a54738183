import type { Claim } from "../../../src/inbox/port/claims.ts";
import type { InboxHost, WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { toLogger } from "../../../src/logger.ts";
import { toWorking, type InboxSubject } from "./inbox-subject.ts";
import { wallClock, type WallClock } from "./wall-clock.ts";

/** An inbox that is open and worked on, and what it told its worker. */
export interface InboxBench {
  readonly inbox: WorkingInbox;
  readonly host: InboxHost;
  readonly clock: WallClock;
  readonly heard: { begun: number; woken: number; readonly lost: Claim[] };
  /** The process dies; the inbox as its successor works on it. */
  succeed(): Promise<WorkingInbox>;
  /** Closes it, opens it again and works on. */
  restart(): Promise<void>;
  /** Closes what is open, and clears away. */
  end(): Promise<void>;
}

/** Sentences about an inbox, each with its proof, under the sentence of the port that they spell out: `<member>: <sentence>`. */
export type InboxPromises = Readonly<Record<string, Readonly<Record<string, (bench: InboxBench) => Promise<void>>>>>;

/** Tries an inbox, and clears away. What fails afterwards does not hide what failed before. */
export async function withBench(
  subject: InboxSubject,
  run: (bench: InboxBench) => Promise<void>,
  dedupeWindowMs?: number,
): Promise<void> {
  const bench = await openBench(subject, dedupeWindowMs);
  try {
    await run(bench);
  } catch (error) {
    await bench.end().catch(() => {});
    throw error;
  }
  await bench.end();
}

export async function openBench(subject: InboxSubject, dedupeWindowMs: number = 8 * DAY_MS): Promise<InboxBench> {
  const clock = wallClock();
  const host = { name: "default", clock, log: toLogger(false), dedupeWindowMs };
  const heard: InboxBench["heard"] = { begun: 0, woken: 0, lost: [] };
  let current = toWorking(await subject.make());

  async function begin(): Promise<WorkingInbox> {
    await current.open(host);
    await current.work({
      begin: () => void (heard.begun += 1),
      end() {},
      wake: () => (heard.woken += 1),
      lost: (claims) => void heard.lost.push(...claims),
    });
    return current;
  }

  return {
    inbox: await begin(),
    host,
    clock,
    heard,
    async succeed() {
      if (subject.crash !== undefined) current = toWorking(await subject.crash(current));
      return begin();
    },
    async restart() {
      await current.close();
      await begin();
    },
    async end() {
      try {
        await current.close();
      } finally {
        await subject.cleanup?.(current);
      }
    },
  };
}

const DAY_MS = 86_400_000;
