import { assertBoolean, assertFunction, assertOptions } from "../assert.ts";
import type { Client, Subscription } from "../client.ts";
import type { Receiver } from "../index.ts";
import type { Id } from "../protocol/event-types.ts";
import { internalsOf } from "../receiver/internals.ts";
import { forEachAccount, toFailed, type AccountFailure, type ClientOf } from "./accounts.ts";
import { createMissing, deleteIfThere, listAll } from "./create-missing.ts";
import { byAccount, type Desired } from "./desired.ts";
import { compare, type Compared } from "./compare.ts";
import { urlKey } from "./same-subscription.ts";

/** Options of {@link planSubscriptions}. */
export interface PlanOptions {
  /** The client of an account, such as `clients(...)` of `hookline/client`. */
  client: ClientOf;
  /**
   * Delete what is not desired: subscriptions of the desired accounts that lead to one of the desired URLs, and all but the oldest of equal
   * ones. Those of other URLs stay.
   *
   * @default false
   */
  prune?: boolean | undefined;
  /** The receiver behind the URLs, if it is in this process: a refused creation is explained by what it answered. */
  receiver?: Receiver | undefined;
}

/** A subscription of the service, with its account. */
export interface Existing extends Pick<Subscription, "id" | "resource" | "notificationUrl"> {
  readonly accountId: Id;
}

/** What to do, so that what is desired exists. Nothing was changed yet. */
export interface Plan {
  readonly create: readonly Desired[];
  /** Empty without `prune`. */
  readonly remove: readonly Existing[];
  readonly keep: readonly Existing[];
  /** Accounts that could not be asked. */
  readonly failed: readonly { readonly accountId: Id; readonly error: unknown }[];
  /**
   * Carries it out; again, it changes nothing more. Two processes may do so at once: of equal subscriptions the oldest stays, and each
   * deletes only what this call made. All that can be done is done before it rejects.
   *
   * @throws HooklineError `subscriptions-failed` when something could not be done, or an account could not be asked
   */
  apply(): Promise<void>;
}

const ALLOWED: Readonly<Record<keyof PlanOptions, true>> = { client: true, prune: true, receiver: true };

/**
 * Compares the desired subscriptions with those that the service has, by account, resource and URL.
 *
 * @throws UsageError `option-invalid`, `receiver-invalid`
 * @see protocol 4.1, "Subscriptions"
 * @example
 * const plan = await planSubscriptions([{ accountId, resource: "/email/messages", notificationUrl }], { client, receiver });
 * await plan.apply();
 */
export async function planSubscriptions(desired: readonly Desired[], options: PlanOptions): Promise<Plan> {
  assertOptions("planSubscriptions", options, ALLOWED);
  const { client: clientOf, prune = false, receiver } = options;
  assertFunction("planSubscriptions's `client`", clientOf);
  assertBoolean("planSubscriptions's `prune`", prune);
  if (receiver !== undefined) internalsOf(receiver);
  const accounts = byAccount("planSubscriptions", desired);
  const urls = new Set([...accounts.values()].flat().map(({ notificationUrl }) => urlKey(notificationUrl)));
  const compared = new Map<Id, Compared>();
  const failed = await forEachAccount(accounts.keys(), async (accountId) => {
    const listed = await listAll(await clientOf(accountId));
    compared.set(accountId, compare(accounts.get(accountId) ?? [], listed));
  });
  // In the order of what is desired, whichever account answered first.
  const ids = [...accounts.keys()];
  const existing = (which: "kept" | "others"): Existing[] =>
    ids.flatMap((accountId) => compared.get(accountId)?.[which].map((one) => toExisting(accountId, one)) ?? []);
  const remove = prune ? existing("others").filter((one) => urls.has(urlKey(one.notificationUrl))) : [];

  async function applyTo(accountId: Id): Promise<void> {
    const client: Client = await clientOf(accountId);
    await createMissing(client, accounts.get(accountId) ?? [], receiver);
    // Only then: what replaces one that is deleted is there.
    for (const one of remove) if (one.accountId === accountId) await deleteIfThere(client, one.id);
  }

  return {
    create: ids.flatMap((accountId) => compared.get(accountId)?.missing ?? []),
    remove,
    keep: existing("kept"),
    failed,
    async apply() {
      const failures: readonly AccountFailure[] = [...failed, ...(await forEachAccount(compared.keys(), applyTo))];
      if (failures.length > 0) throw toFailed(failures);
    },
  };
}

function toExisting(accountId: Id, { id, resource, notificationUrl }: Subscription): Existing {
  return { accountId, id, resource, notificationUrl };
}
