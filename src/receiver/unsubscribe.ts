import { assertOptions, isSource, kindOf, kindOfSource } from "../assert.ts";
import type { ContextServices } from "../dispatch/calls/context.ts";
import type { Clock } from "../clock.ts";
import { HooklineError, UsageError } from "../errors.ts";
import type { InboxWatch } from "../inbox/standstill-watch.ts";
import type { SubscribedResource } from "../inbox/port/gaps.ts";
import { NO_SOURCE, type Tombstones } from "../inbox/port/tombstones.ts";
import { toReason } from "../ingest/unsubscribe-gate.ts";
import type { UnsubscribeRateLimit } from "../ingest/unsubscribe-rate-limit.ts";
import type { Logger } from "../logger.ts";
import type { Observers } from "../observe/observers.ts";
import type { Envelope, Id } from "../protocol/event-types.ts";
import { toId } from "../protocol/id.ts";
import { withTimeout } from "../timeout.ts";
import type { GapWatch } from "../gaps/gap-watch.ts";
import type { SubscriptionErrors } from "./health/subscription-errors.ts";
import type { Receiver } from "./receiver-types.ts";

/** Writes tombstones, and lifts them. */
export interface Unsubscriber extends Pick<Receiver, "unsubscribe" | "resubscribe"> {
  /** `ctx.unsubscribe`: shares its rate limit with the gate, and works while the receiver closes. */
  readonly byHandler: ContextServices["unsubscribe"];
}

export interface UnsubscriberDeps {
  /** Resolves when the inbox is open. */
  readonly opened: () => Promise<void>;
  /** @throws ClosedError `closed` */
  readonly assertOpen: () => void;
  readonly tombstones: Tombstones;
  readonly rateLimit: UnsubscribeRateLimit;
  /** An inbox that gives no answer holds up no caller for ever, and is seen. */
  readonly watch: Pick<InboxWatch, "limit" | "own">;
  readonly log: Logger;
  readonly observers: Observers;
  /** Called after a tombstone was written. */
  readonly unsubscribed: (subscription: Id, source: string | undefined) => void;
  /** Records what the subscription of a tombstone was for: one like it is not to be created again. */
  readonly learn: SubscriptionErrors["learn"];
  /** What a subscription was for, as far as it is known. Never rejects. */
  readonly resourcesOf: GapWatch["resourcesOf"];
  readonly clock: Clock;
}

export function createUnsubscriber(deps: UnsubscriberDeps): Unsubscriber {
  const { opened, assertOpen, tombstones, rateLimit, log, observers, unsubscribed, learn, resourcesOf, clock } = deps;
  const { watch } = deps;

  /** @param event what asked for it, if it was one, with the source of its mount */
  async function put(
    tombstone: Target & { readonly reason: string },
    event?: Partial<Envelope> & Pick<Target, "source">,
  ): Promise<void> {
    const { subscription, source, reason } = tombstone;
    await opened();
    const resources = isOfResource(event)
      ? [event]
      : await withTimeout(RESOURCES_MS, knownOf(subscription, source), { clock, late: [] });
    await putInTime(tombstone);
    unsubscribed(subscription, source);
    // The tombstone stands, whatever becomes of this.
    const remembered = Promise.all(resources.map(remember)).catch((error: unknown) =>
      log.warn({ err: error, code: "subscriptions-failed" }, "the inbox cannot record what was unsubscribed"),
    );
    await withTimeout(RESOURCES_MS, remembered, { clock, late: undefined });
    log.warn(
      { code: "unsubscribed", subscription, source, reason },
      "unsubscribed: this receiver answers deliveries of this subscription 422 from now on",
    );
    observers.notify("unsubscribed", () => ({ subscription, reason }));
  }

  async function putInTime(tombstone: Target & { readonly reason: string }): Promise<void> {
    const own = watch.own("unsubscribe", `Subscription ${tombstone.subscription}`);
    try {
      await watch.limit("tombstones.put", () => tombstones.put(tombstone));
    } finally {
      own.moved();
    }
  }

  async function knownOf(subscription: Id, source: string | undefined): Promise<readonly SubscribedResource[]> {
    const all = await resourcesOf(subscription, undefined);
    return source === undefined ? all : all.filter((one) => (one.source ?? NO_SOURCE) === source);
  }

  function remember({ source, subscription, accountId, resource }: Envelope & Pick<Target, "source">): Promise<void> {
    return learn({ subscription, accountId, resource, error: undefined }, { source, sentAt: clock.now() });
  }

  /** Under one of every source, lifting that of a source changes no answer. */
  async function assertNotOfEvery(subscription: Id, source: string): Promise<void> {
    const standing = await watch.limit("tombstones.list", () => tombstones.list());
    if (!standing.some((one) => one.subscription === subscription && one.source === undefined)) return;
    throw new UsageError(
      "tombstone-of-every-source",
      `Subscription ${subscription} was unsubscribed for every source: it stays unwanted for ${JSON.stringify(source)}.`,
      {
        fix: `Call resubscribe(${subscription}), which lifts all its tombstones; then unsubscribe(${subscription}, reason, { source }) for each source that is to stay unwanted.`,
      },
    );
  }

  return {
    async unsubscribe(given, reason, options = {}) {
      const tombstone = { ...toTarget("unsubscribe", given, options), reason: toReason(reason) };
      assertOpen();
      await put(tombstone);
    },
    async resubscribe(given, options = {}) {
      const { subscription, source } = toTarget("resubscribe", given, options);
      assertOpen();
      await opened();
      if (source !== undefined) await assertNotOfEvery(subscription, source);
      await watch.limit("tombstones.lift", () => tombstones.lift(subscription, source));
      log.info({ code: "resubscribed", subscription, source }, "resubscribed: its deliveries are accepted again");
    },
    async byHandler(event, source, given) {
      const { subscription } = event;
      const reason = toReason(given);
      if (subscription === undefined)
        throw new UsageError("subscription-invalid", "This event names no subscription.", {
          fix: "Check `event.reason`: an event without a readable subscription cannot be unsubscribed.",
        });
      await opened();
      if (!(await watch.limit("allowUnsubscribe", () => rateLimit.allows(subscription, source)))) {
        log.error(
          { code: "unsubscribe-limit-reached", subscription, reason },
          "handlers unsubscribe more than `maxUnsubscribesPerHour`: this call is rejected",
        );
        throw new HooklineError(
          "unsubscribe-limit-reached",
          `More than \`gate.maxUnsubscribesPerHour\` subscriptions were unsubscribed within the hour; ${subscription} was not.`,
          { fix: "Check for a bug first; then raise the limit, or call `receiver.unsubscribe`, which has none." },
        );
      }
      await put({ subscription, source: source ?? NO_SOURCE, reason }, { ...event, source });
    },
  };
}

/** An inbox that does not say what the subscription was for holds up no tombstone for longer, milliseconds. */
const RESOURCES_MS = 2_000;

function isOfResource<T extends Partial<Envelope>>(event: T | undefined): event is T & Envelope {
  return event?.subscription !== undefined && event.accountId !== undefined && event.resource !== undefined;
}

interface Target {
  readonly subscription: Id;
  readonly source: string | undefined;
}

/**
 * Checks the arguments of `unsubscribe()` and `resubscribe()`.
 * @param given the number, or its text, as the service gives it
 * @throws UsageError `subscription-invalid`, `option-invalid`
 */
function toTarget(where: string, given: unknown, options: { readonly source?: unknown }): Target {
  const subscription = toId(given);
  if (subscription === undefined)
    throw new UsageError(
      "subscription-invalid",
      `${where}() got ${typeof given === "string" ? JSON.stringify(given.slice(0, 100)) : kindOf(given)} as the subscription, expected its number.`,
      { fix: "Take `event.subscription`, or the `id` that the service gave when it was created." },
    );
  assertOptions(where, options, { source: true });
  const { source } = options;
  if (isSource(source)) return { subscription, source };
  throw new UsageError(
    "option-invalid",
    `${where}() got ${kindOfSource(source)} for \`source\`, expected a text of whole characters.`,
    {
      fix: "Leave `source` out for every source.",
    },
  );
}
