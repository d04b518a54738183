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
  /** A process beside it starts to work. Its time is the same. */
  join(): Promise<Pick<InboxBench, "inbox" | "heard">>;
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

export async function openBench(
  subject: InboxSubject,
  dedupeWindowMs: number = 8 * DAY_MS,
  log: InboxHost["log"] = toLogger(false),
): Promise<InboxBench> {
  const clock = wallClock();
  const host = { name: "default", clock, log, dedupeWindowMs };
  const heard: InboxBench["heard"] = { begun: 0, woken: 0, lost: [] };
  let current = toWorking(await subject.make());
  const joined: WorkingInbox[] = [];

  async function work(inbox: WorkingInbox, tell: InboxBench["heard"]): Promise<WorkingInbox> {
    await inbox.open(host);
    await inbox.work({
      begin: () => void (tell.begun += 1),
      end() {},
      wake: () => (tell.woken += 1),
      lost: (claims) => void tell.lost.push(...claims),
    });
    return inbox;
  }

  const begin = (): Promise<WorkingInbox> => work(current, heard);

  return {
    inbox: await begin(),
    host,
    clock,
    heard,
    async succeed() {
      if (subject.crash !== undefined) current = toWorking(await subject.crash(current));
      return begin();
    },
    async join() {
      if (subject.beside === undefined) throw new TypeError("The subject has no `beside`.");
      const other = toWorking(await subject.beside(current));
      joined.push(other);
      const own: InboxBench["heard"] = { begun: 0, woken: 0, lost: [] };
      return { inbox: await work(other, own), heard: own };
    },
    async restart() {
      await current.close();
      await begin();
    },
    async end() {
      try {
        await Promise.all([current, ...joined].map((inbox) => inbox.close()));
      } finally {
        await subject.cleanup?.(current);
      }
    },
  };
}

const DAY_MS = 86_400_000;
