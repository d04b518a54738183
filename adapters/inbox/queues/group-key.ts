import { oneText, parseDocument, type StoredDelivery } from "../../../src/adapter.ts";

/** Deliveries of which are done in order: those of an account, or those of a subscription. */
export type GroupBy = "account" | "subscription";

/**
 * The group of a delivery in a queue that keeps the order within groups. What has no account is one group.
 * @see protocol 6.2
 */
export function groupKeyOf({ bodyBase64 }: StoredDelivery, by: GroupBy): string {
  const { envelope } = parseDocument(Buffer.from(bodyBase64, "base64"));
  if (envelope === undefined) return "none";
  return `${by}-${by === "account" ? envelope.accountId : envelope.subscription}`;
}

/** @throws UsageError `option-invalid` */
export function assertGroupBy(where: string, group: unknown): asserts group is GroupBy | undefined {
  if (group !== undefined) oneText(["account", "subscription"], { where, name: "group", value: group });
}
