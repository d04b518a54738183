import { claiming } from "./claiming.ts";
import { counting } from "./counting.ts";
import { crashes } from "./crashes.ts";
import { deduplicating } from "./deduplicating.ts";
import { expanding } from "./expanding.ts";
import type { InboxPromises } from "./fixture.ts";
import { gaps, gapsAfterACrash, gapsOfMany } from "./gaps.ts";
import { laneWindow } from "./lane-window.ts";
import { listing } from "./listing.ts";
import { opening } from "./opening.ts";
import { outcomes } from "./outcomes.ts";
import { pausing, pausingAfterACrash, pausingOfMany } from "./pausing.ts";
import { poisonIsolation } from "./poison-isolation.ts";
import { removing } from "./removing.ts";
import { reopening } from "./reopening.ts";
import { replaying } from "./replaying.ts";
import { settling } from "./settling.ts";
import { sharing } from "./sharing.ts";
import { stats } from "./stats.ts";
import { storing } from "./storing.ts";
import { subscriptions, subscriptionsAfterACrash, unsubscribes } from "./subscriptions.ts";
import { takeOver } from "./take-over.ts";
import { tombstones } from "./tombstones.ts";

/** What every inbox promises: the port, sentence by sentence. */
export const promises: InboxPromises = {
  ...opening,
  ...storing,
  ...expanding,
  ...deduplicating,
  ...claiming,
  ...settling,
  ...outcomes,
  ...laneWindow,
  ...stats,
  ...listing,
  ...counting,
  ...replaying,
  ...removing,
  ...reopening,
  ...tombstones,
  ...subscriptions,
  ...gaps,
  ...pausing,
};

/** What processes that work at the same time owe each other. */
export const promisesOfMany: InboxPromises = { ...sharing, ...unsubscribes, ...gapsOfMany, ...pausingOfMany };

/** What a successor finds after the process that worked has died. */
export const promisesAfterACrash: InboxPromises = {
  ...crashes,
  ...poisonIsolation,
  ...takeOver,
  ...subscriptionsAfterACrash,
  ...gapsAfterACrash,
  ...pausingAfterACrash,
};
