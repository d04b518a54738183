import * as z from "zod/mini";
import type { Id } from "../../protocol/event-types.ts";
import { idField } from "../../protocol/read-fields.ts";
import { flag, recordReader, text, texts, type Open, type Reader } from "./reader.ts";

interface SubscriptionFields {
  /** As deliveries have it. */
  readonly id: Id;
  readonly resource: string;
  readonly notificationUrl: string;
  /** False while the service cannot reach the mailbox. */
  readonly active?: boolean;
  readonly failSince?: string;
  readonly failDescription?: string;
  readonly disabledByBilling?: boolean;
  readonly filters?: readonly string[];
  readonly detailLevel?: Open<"status" | "signal">;
}

/** A subscription to webhooks. Fields that are not listed here are kept. @see protocol 2.1 */
export interface Subscription extends SubscriptionFields {
  readonly [field: string]: unknown;
}

export const readSubscription: Reader<Subscription> = recordReader<SubscriptionFields>({
  id: idField,
  resource: z.string(),
  notificationUrl: z.string(),
  active: flag,
  failSince: text,
  failDescription: text,
  disabledByBilling: flag,
  filters: texts,
  detailLevel: text,
});
