import { createHash } from "node:crypto";

/** What is sent and how it fares: all of it follows from a number, so that it can be made again to compare. */
export interface TestDelivery {
  /** Of this delivery alone. */
  readonly name: string;
  readonly accountId: number;
  readonly body: string;
  /** Names of its events. Those of tracking are shared by the redeliveries of it. */
  readonly events: readonly string[];
}

export const SECRET = "a secret of the power cuts";

/** The account whose content is erased. */
export const ERASED_ACCOUNT = 3;

/** From this number on every delivery is a long one. */
export const FIRST_BIG = 100_000;

const LANES = 11;

/** How a handler takes an event of this name. */
export function behaviourOf(name: string): "fine" | "hopeless" | "late" | "failing" {
  const dice = createHash("sha256").update(name).digest().readUInt8(0);
  if (dice < 6) return "hopeless";
  if (dice < 16) return "late";
  return dice < 20 ? "failing" : "fine";
}

/** What bodies are filled with: it tells the account from the bytes. */
export function fillerOf(accountId: number): string {
  return `of account ${accountId} alone. `;
}

export function trackedId(id: number): string {
  return `t${id}`;
}

/** One delivery of every kind in turn: single mails, several at once, contacts to sync, openings sent twice, and big ones. */
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
  // Longer than a page of the file now and then, and always among those that are to leave many pages free.
  const length = number % 23 === 0 || number >= FIRST_BIG ? 30_000 : (number * 37) % 900;
  const filler = fillerOf(accountId).repeat(length / 20);
  return {
    name,
    accountId,
    body: JSON.stringify({ subscription: 1001, accountId, resource, payloads, name, filler }),
    events,
  };
}
