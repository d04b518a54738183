import { GiveUp, RetryLater, type AnyEvent, type Context } from "hookline";
import type { Call, End } from "./ledger.ts";
import type { Dice } from "./random.ts";

/** What a handler does. */
export type Deed =
  | "ok"
  | "soon"
  | "later"
  | "throw"
  | "fail"
  | "give-up"
  | "retry-later"
  | "hang"
  | "late"
  | "ignore"
  | "forever"
  | "kill";

/** How often each is done in an unruly world. */
export const DEEDS: Readonly<Record<Deed, number>> = {
  ok: 8,
  soon: 6,
  later: 6,
  throw: 3,
  fail: 3,
  "give-up": 1,
  "retry-later": 2,
  hang: 2,
  late: 1,
  ignore: 1,
  forever: 0.5,
  kill: 0.7,
};

/** A call that has not ended. */
export interface Performance {
  readonly call: Call;
  /** Ends it well, whatever it was about to do. */
  finish(): void;
}

export interface Stage {
  readonly dice: Dice;
  wall(): number;
  /** Runs it later; handlers outlive their process. */
  after(ms: number, run: () => void): void;
  ended(call: Call, end: Pick<End, "ok" | "verdict">): void;
  /** The process dies of it. */
  kill(): void;
  readonly open: Set<Performance>;
}

/** Does it: returns, throws, or returns a promise, as handlers do. */
export function perform(
  deed: Deed,
  { call, ctx }: { call: Call; ctx: Context; event: AnyEvent },
  stage: Stage,
): unknown {
  const { dice, wall, after, ended, open } = stage;
  if (deed === "ok") {
    ended(call, { ok: true, verdict: "failed" });
    return undefined;
  }
  if (deed === "throw") {
    ended(call, { ok: false, verdict: "failed" });
    throw new Error("thrown");
  }
  return new Promise<void>((resolve, reject) => {
    const performance: Performance = { call, finish: () => end() };
    open.add(performance);

    function end(error?: Error, verdict: End["verdict"] = "failed"): void {
      if (!open.delete(performance)) return;
      ended(call, { ok: error === undefined, verdict });
      if (error === undefined) resolve();
      else reject(error);
    }

    const onAbort = (run: () => void): void => {
      if (ctx.signal.aborted) run();
      else ctx.signal.addEventListener("abort", run);
    };

    switch (deed) {
      case "soon":
        return void Promise.resolve().then(() => end());
      case "later":
        return after(dice.pick([1, 40, 500, 5_000, 60_000]), () => end());
      case "fail":
        return after(dice.pick([0, 1, 40, 5_000]), () => end(new Error("failed")));
      case "give-up":
        return after(dice.pick([0, 1]), () => end(new GiveUp("enough"), "give-up"));
      case "retry-later":
        return void Promise.resolve().then(() => retryLater());
      case "hang":
        return onAbort(() => end(new Error("aborted")));
      case "late":
        return onAbort(() => after(dice.int(0, 5_000), () => end()));
      case "ignore":
        return onAbort(() =>
          after(dice.int(0, 600_000), () => end(dice.chance(0.5) ? new Error("so late") : undefined)),
        );
      case "kill":
        return stage.kill();
      case "forever":
    }

    function retryLater(): void {
      const laterMs = dice.pick([0, 10, 2_000, 60_000, 3_600_000]);
      const form = dice.pick(["ms", "s", "at"]);
      const when =
        form === "at"
          ? { at: new Date(wall() + laterMs) }
          : form === "s"
            ? { afterSeconds: laterMs / 1_000 }
            : { afterMs: laterMs };
      const ofAccount = dice.chance(0.4);
      end(new RetryLater(when, { scope: ofAccount ? "account" : "job" }), { laterMs, ofAccount });
    }
  });
}
