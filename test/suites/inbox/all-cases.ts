import { claiming } from "./claiming.ts";
import { dying } from "./crashes.ts";
import { deduplicating } from "./deduplicating.ts";
import { expanding } from "./expanding.ts";
import type { InboxPromises } from "./fixture.ts";
import { inheriting } from "./lane-window.ts";
import { looking } from "./listing.ts";
import { opening } from "./opening.ts";
import { outcomes } from "./outcomes.ts";
import { suspecting } from "./poison-isolation.ts";
import { removing } from "./removing.ts";
import { reopening } from "./reopening.ts";
import { replaying } from "./replaying.ts";
import { settling } from "./settling.ts";
import { counting } from "./stats.ts";
import { keeping } from "./storing.ts";
import { subscriptions, subscriptionsAfterACrash } from "./subscriptions.ts";
import { succeeding } from "./take-over.ts";
import { tombstones } from "./tombstones.ts";

/** What every inbox promises: the port, sentence by sentence. */
export const promises: InboxPromises = {
  ...opening,
  ...keeping,
  ...expanding,
  ...deduplicating,
  ...claiming,
  ...settling,
  ...outcomes,
  ...inheriting,
  ...counting,
  ...looking,
  ...replaying,
  ...removing,
  ...reopening,
  ...tombstones,
  ...subscriptions,
};

/** What a successor finds after the process that worked has died. */
export const promisesAfterACrash: InboxPromises = {
  ...dying,
  ...suspecting,
  ...succeeding,
  ...subscriptionsAfterACrash,
};
