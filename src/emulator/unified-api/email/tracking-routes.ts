import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { openingsOf, type TrackedMessage, type TrackingEvent } from "../../accounts/tracking.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, wrongField, type Route } from "../../http/routes.ts";
import { accountOf } from "../authenticate.ts";
import { OFFSET_QUERY, offsetPageOf, offsetPageSchema } from "../offset-pages.ts";
import { flag, OK, OK_ANSWER } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const PATH = "/v1/email/tracking";
const threadId = z.string().optional();
const moment = z.iso.datetime({ offset: true }).optional();
const TRACKING = z.looseObject({
  id: z.int(),
  sendDate: z.string().optional(),
  lastActivityTime: z.string().optional(),
  lastRespondedTime: z.string().optional(),
  trackReplies: z.boolean(),
  trackOpens: z.boolean(),
  trackingCode: z.string(),
  openCount: z.int(),
  ignoreOpenClicks: z.boolean(),
  hasBounced: z.boolean(),
});
const EVENT = z.looseObject({ id: z.int(), createdAt: z.string(), eventType: z.string(), trackingId: z.int() });
const LIST = OFFSET_QUERY.extend({
  withActivityOnly: flag(false),
  contextContains: z.string().default(""),
  threadId,
  showSentOnly: flag(false),
});
const IGNORE = z.object({
  messageId: z.string().optional(),
  inetMessageId: z.string().optional(),
  isIgnored: z.enum(["true", "false"]),
});

/** Tracked messages of an account, and what happened to them. @see service's public description, email/tracking */
export function trackingRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  // It is the service's own, and needs no mailbox.
  const operation = operationsOf({
    tag: "Tracking",
    auth: "bearer",
    caller: (context) => accountOf(service, context),
  });

  return [
    operation({
      method: "GET",
      path: PATH,
      summary: "Lists tracked messages.",
      query: LIST,
      answer: offsetPageSchema(TRACKING),
      run({ caller, query: { limit = pageSize, offset, ...wanted } }) {
        const found = caller.tracking.all.filter(
          (tracked) =>
            (!wanted.withActivityOnly || activityOf(tracked) !== undefined) &&
            (tracked.options.context ?? "").includes(wanted.contextContains) &&
            (wanted.threadId === undefined || tracked.sent?.threadId === wanted.threadId) &&
            (!wanted.showSentOnly || tracked.sent !== undefined),
        );
        return offsetPageOf(found.map(toView), { limit, offset });
      },
    }),
    operation({
      method: "POST",
      path: `${PATH}/purgeMyTracking`,
      summary: "Forgets the openings by the program that calls, which it knows by its User-Agent.",
      query: z.object({ threadId }),
      answer: OK_ANSWER,
      run({ caller, query, context }) {
        const userAgent = context.req.header("user-agent");
        for (const tracked of caller.tracking.all)
          if (query.threadId === undefined || tracked.sent?.threadId === query.threadId)
            tracked.events = tracked.events.filter(
              (event) => event.eventType !== "open" || event.userAgent !== userAgent,
            );
        return OK;
      },
    }),
    operation({
      method: "POST",
      path: `${PATH}/ignoreOpenClicks`,
      summary: "Ignores from now on that a message is opened, or no more.",
      query: IGNORE,
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, query: { messageId, inetMessageId, isIgnored } }) {
        if (messageId === undefined && inetMessageId === undefined)
          throw wrongField("messageId", "there is neither a messageId nor an inetMessageId");
        const tracked = caller.tracking.all.find(
          ({ sent }) =>
            sent !== undefined &&
            (messageId === undefined ? sent.internetMessageId === inetMessageId : sent.id === messageId),
        );
        if (tracked === undefined) throw new ApiError(404, "not_found", "There is no tracking of that message.");
        tracked.isIgnored = isIgnored === "true";
        return OK;
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/events`,
      summary: "Lists what happened to tracked messages.",
      query: OFFSET_QUERY.extend({ threadId, from: moment, to: moment }),
      answer: offsetPageSchema(EVENT),
      isExact: true,
      run({ caller, query: { limit = pageSize, offset, from, to, ...wanted } }) {
        const found = caller.tracking.all
          .flatMap(({ events }) => events)
          .filter(
            (event) =>
              (wanted.threadId === undefined || event["trackingThreadId"] === wanted.threadId) &&
              (from === undefined || Date.parse(event.createdAt) >= Date.parse(from)) &&
              (to === undefined || Date.parse(event.createdAt) <= Date.parse(to)),
          )
          .toSorted((a, b) => a.id - b.id);
        return offsetPageOf(found, { limit, offset });
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:id`,
      summary: "Gets a tracked message.",
      answer: TRACKING,
      isExact: true,
      errors: [404],
      run: ({ caller, param }) => toView(trackedOf(caller, param("id"))),
    }),
    operation({
      method: "GET",
      path: `${PATH}/:id/events`,
      summary: "Lists what happened to a tracked message.",
      query: OFFSET_QUERY,
      answer: offsetPageSchema(EVENT),
      isExact: true,
      errors: [404],
      run: ({ caller, query: { limit = pageSize, offset }, param }) =>
        offsetPageOf(trackedOf(caller, param("id")).events, { limit, offset }),
    }),
    operation({
      method: "GET",
      path: `${PATH}/:trackingId/events/:id`,
      summary: "Gets one thing that happened to a tracked message.",
      answer: EVENT,
      isExact: true,
      errors: [404],
      run({ caller, param }) {
        const event = trackedOf(caller, param("trackingId")).events.find(({ id }) => String(id) === param("id"));
        if (event !== undefined) return event;
        throw new ApiError(404, "not_found", `There is no event ${JSON.stringify(param("id"))} of this tracking.`);
      },
    }),
  ];
}

/** @throws ApiError 404 */
function trackedOf({ tracking }: Account, id: string): TrackedMessage {
  const tracked = tracking.all.find(({ trackingId }) => String(trackingId) === id);
  if (tracked !== undefined) return tracked;
  throw new ApiError(404, "not_found", `There is no tracking ${JSON.stringify(id)}.`);
}

/** The latest thing that somebody else did. */
function activityOf({ events }: TrackedMessage): TrackingEvent | undefined {
  return events.findLast(({ eventType }) => eventType !== "initial");
}

function toView(tracked: TrackedMessage): z.output<typeof TRACKING> {
  const { trackingId, trackingCode, options, sent, events, isIgnored } = tracked;
  const openings = openingsOf(tracked);
  const { location, userAgent, remoteAddr } = openings.at(-1) ?? {};
  return {
    id: trackingId,
    messageId: sent?.id,
    inetMessageId: sent?.internetMessageId,
    threadId: sent?.threadId,
    sendDate: sent && new Date(sent.atMs).toISOString(),
    lastActivityTime: activityOf(tracked)?.createdAt,
    lastRespondedTime: events.findLast(({ eventType }) => eventType === "reply")?.createdAt,
    trackReplies: options.threadReplies ?? false,
    trackOpens: options.opens ?? false,
    trackingCode,
    context: options.context,
    location,
    userAgent,
    remoteAddr,
    openCount: openings.length,
    ignoreOpenClicks: isIgnored,
    hasBounced: events.some(({ eventType }) => eventType === "replyBounce"),
  };
}
