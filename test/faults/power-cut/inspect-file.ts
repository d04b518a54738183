import type { StoredJob, WorkingInbox } from "hookline/adapter";
import { sqliteInbox } from "hookline/sqlite";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../../src/clock.ts";
import { asWorking, asWriting } from "../../../src/inbox/port/inbox.ts";
import { toLogger } from "../../../src/logger.ts";
import { deliveryOf, type TestDelivery } from "./deliveries.ts";

/** The contents of a file after a power cut. */
export interface FileContents {
  readonly wrong: readonly string[];
  /** By name. */
  readonly bodies: ReadonlyMap<string, string>;
  readonly unexpanded: ReadonlySet<string>;
  /** Accounts. */
  readonly accounts: ReadonlySet<number>;
  /** In the order of ids, with the name of each one's event. */
  readonly jobs: readonly (Pick<StoredJob, "id" | "consumer" | "lane" | "state"> & { readonly name: string })[];
}

/** Opens the file first, as a receiver does that only receives. */
export async function inspectFile(file: string): Promise<FileContents> {
  const inbox = asWorking(asWriting(sqliteInbox(file)));
  if (inbox === undefined) throw new Error("It has no working half.");
  await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 1_000 });
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const integrity = Object.values(db.prepare("PRAGMA integrity_check").get() ?? {})[0];
    const found = db
      .prepare("SELECT id, body, cursor FROM delivery LEFT JOIN unexpanded ON unexpanded.delivery = delivery.id")
      .all()
      .map(({ id, body, cursor }) => {
        const text = Buffer.from(body as Uint8Array).toString();
        const { name, accountId } = JSON.parse(text) as Pick<TestDelivery, "name" | "accountId">;
        return { id: String(id), text, name, accountId, isOpen: cursor !== null };
      });
    const nameOf = new Map(found.map(({ id, name }) => [id, name]));
    const open = found.filter(({ isOpen }) => isOpen);
    const jobs = await allJobs(inbox);
    return {
      wrong: [integrity === "ok" ? "" : `damaged: ${String(integrity)}`, miscounted(inbox, jobs, open.length)].filter(
        Boolean,
      ),
      bodies: new Map(found.map(({ name, text }) => [name, text])),
      unexpanded: new Set(open.map(({ name }) => name)),
      accounts: new Set(found.map(({ accountId }) => accountId)),
      jobs: jobs.map(({ id, deliveryId, entry, consumer, lane, state }) => {
        const name = eventsOf(nameOf.get(deliveryId))[entry] ?? "";
        return { id, consumer, lane, state, name };
      }),
    };
  } finally {
    db.close();
    await inbox.close();
  }
}

async function allJobs({ jobs }: WorkingInbox): Promise<StoredJob[]> {
  const all: StoredJob[] = [];
  let after: string | undefined;
  do {
    const page = await jobs.find({ limit: 1_000, after });
    all.push(...page.jobs);
    after = page.next;
  } while (after !== undefined);
  return all;
}

function eventsOf(name: string | undefined): readonly string[] {
  return name === undefined ? [] : deliveryOf(Number(name.slice(1))).events;
}

/** Compares the maintained counters with the rows. */
function miscounted(inbox: WorkingInbox, jobs: readonly StoredJob[], unexpanded: number): string {
  const { running, waiting, ...counted } = inbox.stats();
  const those = (...states: readonly StoredJob["state"][]): number =>
    jobs.filter(({ state }) => states.includes(state)).length;
  const there = {
    unexpanded,
    unsettled: those("waiting", "running"),
    dead: those("dead"),
    unhandled: those("unhandled"),
  };
  const counters = { ...counted, unsettled: running + waiting };
  const isRight = Object.entries(there).every(([what, number]) => counters[what as keyof typeof there] === number);
  return isRight ? "" : `damaged: it counts ${JSON.stringify(counters)}, and there are ${JSON.stringify(there)}`;
}
