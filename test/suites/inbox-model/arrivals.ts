import type { NewEvent, NewJob } from "../../../src/inbox/port/delivery.ts";
import { mail, SKIPPED, UNHANDLED, type FullDelivery } from "../inbox/deliveries.ts";
import type { DeliveryToStore, EntryToStore } from "./steps.ts";

/** A delivery as a step describes it; each was received a second after the one before. */
export function arrivalOf({ account, entries }: DeliveryToStore, count: number): FullDelivery {
  const receivedAt = FIRST_AT + count * 1_000;
  const { delivery, events } = mail(
    entries.map((_, entry) => `${count}.${entry}`),
    { accountId: account, receivedAt },
  );
  return { delivery, events: events.map((event, entry) => Object.assign(event, givenTo(entries[entry], account))) };
}

/** Jobs for those who handle an event now. */
export function jobsOf(
  kind: EntryToStore["jobs"],
  { lane, merge }: Pick<EntryToStore, "lane" | "merge">,
  account: number,
) {
  const one = (consumer: string): NewJob => ({
    state: "waiting",
    consumer,
    lane: lane === undefined ? undefined : `${consumer} ${lane}`,
    mergeKey: merge === undefined ? undefined : `${account} ${merge}`,
  });
  switch (kind) {
    case "skipped":
      return [SKIPPED];
    case "unhandled":
      return [UNHANDLED];
    case "two":
      return [one("default"), one("search")];
    case "one":
      return [one("default")];
  }
}

function givenTo(entry: EntryToStore | undefined, account: number): Pick<NewEvent, "unique" | "jobs"> {
  if (entry === undefined) return { unique: undefined, jobs: [] };
  const [key, content] = entry.unique ?? [];
  return {
    unique: key === undefined || content === undefined ? undefined : { key, content },
    jobs: jobsOf(entry.jobs, entry, account),
  };
}

const FIRST_AT = Date.parse("2026-01-02T03:04:00Z");
