import type { EmulatedService } from "../emulated-service.ts";
import type { Variants } from "../emulator-types.ts";
import type { Route } from "../http/routes.ts";
import { accountRoutes } from "./account-routes.ts";
import { authorizeRoutes } from "./authorize-routes.ts";
import { availabilityRoutes } from "./calendars/availability-routes.ts";
import { bookingRoutes } from "./bookings/booking-routes.ts";
import { calendarRoutes } from "./calendars/calendar-routes.ts";
import { calendarSyncRoutes } from "./calendars/calendar-sync-routes.ts";
import { conversationRoutes } from "./email/conversation-routes.ts";
import type { DeltaSyncOptions } from "./delta-sync.ts";
import { emailSyncRoutes } from "./email/email-sync-routes.ts";
import { eventRoutes } from "./calendars/event-routes.ts";
import { draftRoutes } from "./email/draft-routes.ts";
import { draftTrackingRoutes } from "./email/draft-tracking-routes.ts";
import { folderRoutes } from "./email/folder-routes.ts";
import { messageRoutes } from "./email/message-routes.ts";
import { occurrenceRoutes } from "./calendars/occurrence-routes.ts";
import { contactRoutes } from "./contacts/contact-routes.ts";
import { subscriptionRoutes } from "./subscription-routes.ts";
import { taskListRoutes } from "./tasks/task-list-routes.ts";
import { taskRoutes } from "./tasks/task-routes.ts";
import { notPlayedRoutes } from "./not-played-routes.ts";
import { pictureRoutes } from "./email/picture-routes.ts";
import { trackingRoutes } from "./email/tracking-routes.ts";

/** Variants with their defaults. */
export type ResolvedVariants = { readonly [K in keyof Variants]-?: NonNullable<Variants[K]> };

/** How the unified API answers. */
export interface UnifiedOptions {
  /** Records on a page. */
  readonly pageSize: number;
  readonly variants: ResolvedVariants;
  readonly deltaSync: DeltaSyncOptions;
}

/** All rows of the unified API. @see protocol 4.1 */
export function unifiedRoutes(service: EmulatedService, options: UnifiedOptions): readonly Route[] {
  const played = [
    ...authorizeRoutes(service),
    ...subscriptionRoutes(service, options),
    ...calendarRoutes(service, options),
    ...calendarSyncRoutes(service, options),
    ...availabilityRoutes(service, options),
    ...eventRoutes(service, options),
    ...occurrenceRoutes(service, options),
    ...emailSyncRoutes(service, options),
    ...messageRoutes(service, options),
    ...conversationRoutes(service, options),
    ...contactRoutes(service, options),
    ...taskListRoutes(service, options),
    ...taskRoutes(service, options),
    ...folderRoutes(service, options),
    ...draftRoutes(service, options),
    ...draftTrackingRoutes(service),
    ...trackingRoutes(service, options),
    ...pictureRoutes(service),
    ...accountRoutes(service, options),
    ...bookingRoutes(service, options),
  ];
  return [...played, ...notPlayedRoutes(played)];
}
