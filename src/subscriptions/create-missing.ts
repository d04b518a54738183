import { NotFound, type Client, type Subscription } from "../client.ts";
import { HooklineError } from "../errors.ts";
import type { Receiver } from "../index.ts";
import type { Id } from "../protocol/event-types.ts";
import { describeThrown } from "../thrown.ts";
import { compare } from "./compare.ts";
import type { Desired } from "./desired.ts";
import { fits } from "./same-subscription.ts";
import { explainRefusal, hearHandshakes } from "./explain-refusal.ts";

/**
 * Creates what an account lacks of what is desired. Another process may do the same: after it has created, each lists again, and of equal
 * ones keeps the oldest; it deletes only what it created itself.
 *
 * @returns the ids of what was created and stayed
 * @throws HooklineError or ServiceError when something desired does not exist in the end
 */
export async function createMissing(
  client: Client,
  desired: readonly Desired[],
  receiver: Receiver | undefined,
): Promise<readonly Id[]> {
  const { missing } = compare(desired, await listAll(client));
  if (missing.length === 0) return [];
  const created: { readonly one: Desired; readonly id: Id }[] = [];
  const refused: { readonly one: Desired; readonly error: unknown }[] = [];
  for (const one of missing) {
    try {
      created.push({ one, id: await create(client, one, receiver) });
    } catch (error) {
      refused.push({ one, error });
    }
  }
  const after = await listAll(client);
  const stayed: Id[] = [];
  for (const { one, id } of created) {
    const ids = after.filter((subscription) => fits(one, subscription)).map((subscription) => subscription.id);
    // The oldest has the smallest id: the service tells no time of creation.
    if (Math.min(id, ...ids) < id) await deleteIfThere(client, id);
    else stayed.push(id);
  }
  // Another process may have created it, or this one did and the answer was lost.
  const errors = refused.flatMap(({ one, error }) => (after.some((other) => fits(one, other)) ? [] : [error]));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1)
    throw new HooklineError("subscriptions-failed", errors.map((error) => describeThrown(error).message).join(" "), {
      cause: new AggregateError(errors),
    });
  return stayed;
}

/** All of an account, those that do not work included. */
export async function listAll(client: Client): Promise<readonly Subscription[]> {
  const all: Subscription[] = [];
  for await (const one of client.subscriptions.list({ includeInactive: true })) all.push(one);
  return all;
}

/** What another process has deleted is deleted. */
export async function deleteIfThere(client: Client, id: Id): Promise<void> {
  try {
    await client.subscriptions.delete(id);
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
  }
}

async function create(client: Client, desired: Desired, receiver: Receiver | undefined): Promise<Id> {
  const { resource, notificationUrl, detailLevel } = desired;
  const heard = hearHandshakes(receiver, notificationUrl);
  try {
    const body = { resource, notificationUrl, ...(detailLevel && { detailLevel }) };
    return (await client.subscriptions.create(body)).id;
  } catch (error) {
    throw await explainRefusal(error, desired, heard);
  } finally {
    heard?.end();
  }
}
