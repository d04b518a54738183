import { createInboxWatch, type InboxWatch } from "../../src/inbox/standstill-watch.ts";
import { fakeClock } from "./fake-clock.ts";

/** One that nobody reads, and whose time does not pass. */
export function idleWatch(): InboxWatch {
  return createInboxWatch(fakeClock());
}
