import type { InboxPromises } from "./bench.ts";
import { claiming } from "./claiming.ts";
import { counting } from "./counting.ts";
import { deduplicating } from "./deduplicating.ts";
import { dying } from "./dying.ts";
import { expanding } from "./expanding.ts";
import { inheriting } from "./inheriting.ts";
import { keeping } from "./keeping.ts";
import { looking } from "./looking.ts";
import { opening } from "./opening.ts";
import { outcomes } from "./outcomes.ts";
import { removing } from "./removing.ts";
import { reopening } from "./reopening.ts";
import { replaying } from "./replaying.ts";
import { settling } from "./settling.ts";
import { subscriptions, subscriptionsAfterACrash } from "./subscriptions.ts";
import { succeeding } from "./succeeding.ts";
import { suspecting } from "./suspecting.ts";
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
