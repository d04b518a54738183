import { createHash } from "node:crypto";

/** A delivery and its expected outcome, both derived from a number, so that a check can rebuild them. */
export interface TestDelivery {
  /** Unique. */
  readonly name: string;
  readonly accountId: number;
  readonly body: string;
  /** Names of its events. Redeliveries share the names of tracking events. */
  readonly events: readonly string[];
}

export const SECRET = "a secret of the power cuts";

/** The account whose content is erased. */
export const ERASED_ACCOUNT = 3;

/** From this number on every delivery is long. */
export const FIRST_BIG = 100_000;

const LANES = 11;

/** What the handler does with an event of this name. */
export function behaviourOf(name: string): "fine" | "hopeless" | "late" | "failing" {
  const dice = createHash("sha256").update(name).digest().readUInt8(0);
  if (dice < 6) return "hopeless";
  if (dice < 16) return "late";
  return dice < 20 ? "failing" : "fine";
}

/** Filler of a body, which identifies the account. */
export function fillerOf(accountId: number): string {
  return `of account ${accountId} alone. `;
}

export function trackedId(id: number): string {
  return `t${id}`;
}

/** Delivery kinds in turn: single mails, several at once, contacts to sync, openings sent twice, and big ones. */
export function deliveryOf(number: number): TestDelivery {
  const name = `n${number}`;
  const accountId = 1 + (number % 4);
  const kind = number % 10;
  if (kind === 8 || kind === 9) {
    const id = Math.floor(number / 10) + 1;
    const payloads = [{ id, eventType: "open", createdAt: "2026-05-06T07:08:09Z", trackingId: id % 5 }];
    return toBody({ name, accountId: 1, resource: "/email/tracking", payloads, events: [trackedId(id)] });
  }
  const resource = kind === 7 ? "/contacts" : "/email/messages";
  const count = kind === 6 ? 3 : 1;
  const events = Array.from({ length: count }, (_, index) => `${name}.${index}`);
  const payloads = events.map((event, index) => ({
    id: `r${(number + index) % LANES}`,
    changeType: "updated",
    attributes: { threadId: event },
  }));
  return toBody({ name, accountId, resource, payloads, events });
}

interface Parts extends Omit<TestDelivery, "body"> {
  readonly resource: string;
  readonly payloads: readonly unknown[];
}

function toBody({ name, accountId, resource, payloads, events }: Parts): TestDelivery {
  const number = Number(name.slice(1));
  // Sometimes longer than a page of the file; always among those whose deletion must free many pages.
  const length = number % 23 === 0 || number >= FIRST_BIG ? 30_000 : (number * 37) % 900;
  const filler = fillerOf(accountId).repeat(length / 20);
  return {
    name,
    accountId,
    body: JSON.stringify({ subscription: 1001, accountId, resource, payloads, name, filler }),
    events,
  };
}
