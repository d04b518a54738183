import type { Clock } from "../../../src/clock.ts";
import type { Random } from "../../../src/emulator/random.ts";
import { GiveUp, RetryLater, type Receiver } from "../../../src/index.ts";
import type { Ledger } from "./ledger.ts";

/** Handlers that fail, wait, give up, and now and then decide that a subscription is unwanted. */
export function handleBadly(
  receiver: Receiver,
  { random, ledger, clock }: { readonly random: Random; readonly ledger: Ledger; readonly clock: Clock },
): void {
  receiver.on(
    ["*", "unknown"],
    async (event, ctx) => {
      if (ledger.isHealed) return;
      const luck = random.next();
      if (luck < 0.15) throw new Error("a handler failed");
      if (luck < 0.18) throw new GiveUp("a handler gave up");
      if (luck < 0.22) throw new RetryLater({ afterSeconds: 1 + random.next() * 600 });
      if (luck < 0.4) await new Promise<void>((resolve) => clock.setTimer(resolve, random.next() * 20_000));
      if (luck > 0.995 && event.subscription !== undefined) {
        ledger.unsubscribed.add(event.subscription);
        await ctx.unsubscribe("a decision");
      }
    },
    { merge: false },
  );
  receiver.observe({
    succeeded: ({ job }) => ledger.ended(job.event),
    dead: ({ job }) => ledger.ended(job.event),
    duplicate: () => (ledger.duplicates += 1),
  });
}
