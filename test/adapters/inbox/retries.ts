import type { JobOutcome, WorkingInbox } from "hookline/adapter";
import type { MailEntry } from "../../suites/inbox/deliveries.ts";

export const HOUR = 3_600_000;
export const ALL = { max: 1_000, mergeMax: 1, ahead: () => 1_000 };

/** A failure that is to be tried again. */
export function later(clock: { now(): number }, delayMs: number): JobOutcome {
  const error = { at: clock.now(), name: "Error", message: "not now" };
  return { to: "retry", at: clock.now() + delayMs, delayMs, counted: true, error };
}

/** Claims what is due, and ends it so. @returns the records, in the order of their claims */
export async function run(inbox: WorkingInbox, outcome: JobOutcome = { to: "done" }): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const { claims } = await inbox.claim(ALL);
    if (claims.length === 0) return names;
    for (const { jobs } of claims) for (const { delivery, entry } of jobs) names.push(recordIn(delivery.body, entry));
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => outcome) })));
  }
}

export function recordIn(body: Uint8Array, entry: number): string {
  return String(JSON.parse(Buffer.from(body).toString()).payloads[entry].id);
}

export function named(name: string, count: number, fields: Partial<MailEntry> = {}): MailEntry[] {
  return Array.from({ length: count }, (_, index) => ({ id: `${name} ${index}`, ...fields }));
}
