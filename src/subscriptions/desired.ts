import { kindOf } from "../assert.ts";
import { UsageError } from "../errors.ts";
import type { Id } from "../protocol/event-types.ts";
import { toId } from "../protocol/id.ts";
import { isSame } from "./same-subscription.ts";

/** A subscription that is to exist. */
export interface Desired {
  readonly accountId: Id;
  /** Such as `/email/messages`. @see protocol 6.1 */
  readonly resource: string;
  /** The public URL of the mount. */
  readonly notificationUrl: string;
  /** `signal`: deliveries without `payloads`. One with another level is another subscription. @default the service's */
  readonly detailLevel?: "status" | "signal" | undefined;
}

/**
 * Checks what is desired, and groups it by account; one that is given twice counts once.
 *
 * @param where the function that got it
 * @throws UsageError `option-invalid` with the place and the field
 */
export function byAccount(where: string, desired: readonly Desired[]): ReadonlyMap<Id, readonly Desired[]> {
  if (!Array.isArray(desired))
    throw new UsageError(
      "option-invalid",
      `${where} got ${kindOf(desired)} as what is desired, expected a list of subscriptions.`,
    );
  const accounts = new Map<Id, Desired[]>();
  for (const [index, given] of desired.entries()) {
    const one = checked(given as Partial<Desired> | null | undefined, `${where} got desired[${index}]`);
    const others = accounts.get(one.accountId) ?? [];
    if (!others.some((other) => isSame(other, one))) accounts.set(one.accountId, [...others, one]);
  }
  return accounts;
}

/** For messages: neither a query, which may have a secret, nor a password. */
export function describe({ resource, notificationUrl }: Pick<Desired, "resource" | "notificationUrl">): string {
  const { origin, pathname } = new URL(notificationUrl);
  return `${resource} at ${origin}${pathname}`;
}

function checked(given: Partial<Desired> | null | undefined, where: string): Desired {
  const refuse = (field: string, value: unknown, expected: string): UsageError =>
    new UsageError("option-invalid", `${where}.${field} ${kindOf(value)}, expected ${expected}.`);
  const { resource, notificationUrl, detailLevel } = given ?? {};
  const accountId = toId(given?.accountId);
  if (accountId === undefined) throw refuse("accountId", given?.accountId, "the number of an account");
  if (typeof resource !== "string" || !resource.startsWith("/"))
    throw refuse("resource", resource, 'a path that begins with "/", such as /email/messages');
  if (typeof notificationUrl !== "string" || !/^https?:$/.test(URL.parse(notificationUrl)?.protocol ?? ""))
    throw refuse("notificationUrl", notificationUrl, "a URL with https:// or http://");
  if (![undefined, "status", "signal"].includes(detailLevel))
    throw refuse("detailLevel", detailLevel, '"status" or "signal"');
  return { accountId, resource, notificationUrl, detailLevel };
}
