import type { Claim, JobOutcome } from "../../../src/inbox/port/claims.ts";
import { crashMemoryInbox } from "../crash-memory-inbox.ts";
import { claimsAs, outcomesAs, type Break, type Bug } from "./broken-subject.ts";

const died = new WeakSet<object>();
const none: Break = () => ({});

const instead = (from: JobOutcome["to"], change: (outcome: JobOutcome) => JobOutcome): Break =>
  outcomesAs((outcome) => (outcome.to === from ? change(outcome) : outcome));

/** Inboxes that claim, settle and die wrongly. */
export const runningBugs: readonly Bug[] = [
  {
    it: "says true to the settle of a lost claim",
    wrong: (own) => ({ settle: async (settlements) => (await own.settle(settlements)).map(() => true) }),
    caught: "settle: a claim settles once; afterwards it is lost, and changes nothing",
  },
  {
    it: "settles a claim that was lost by the next one of its job",
    wrong(own) {
      const latest = new Map<string, Claim>();
      return {
        async claim(limits) {
          const claimed = await own.claim(limits);
          for (const claim of claimed.claims) latest.set(claim.jobs[0].id, claim);
          return claimed;
        },
        settle: (settlements) =>
          own.settle(settlements.map((each) => ({ ...each, claim: latest.get(each.claim.jobs[0].id) ?? each.claim }))),
      };
    },
    caught: "settle: a lost claim does not open the lane of the one that runs",
  },
  {
    it: "claims a lane twice",
    wrong(own) {
      const running = new Set<Claim>();
      return {
        async claim(limits) {
          const claimed = await own.claim(limits);
          const again = [...running].slice(0, limits.max - claimed.claims.length);
          for (const claim of claimed.claims) running.add(claim);
          return { ...claimed, claims: [...claimed.claims, ...again] };
        },
        settle(settlements) {
          for (const { claim } of settlements) running.delete(claim);
          return own.settle(settlements);
        },
      };
    },
    caught: "claim: what comes while a claim runs waits for its end, also with the same merge key",
  },
  {
    it: "begins to count attempts at 0",
    wrong: claimsAs((job) => ({ ...job, attempt: job.attempt - 1 })),
    caught: "claim: a job that is claimed has begun its attempt before anybody says so",
  },
  {
    it: "takes the time of this attempt for that of the first one",
    wrong: (own) => ({
      ...claimsAs((job) => ({ ...job, firstAttemptAt: job.attempt > 1 ? job.firstAttemptAt + 1 : job.firstAttemptAt }))(
        own,
      ),
    }),
    caught: "claim: attempts are counted from 1, and the first one's time stays",
  },
  {
    it: "merges without a limit",
    wrong: (own) => ({ claim: (limits) => own.claim({ ...limits, mergeMax: 1_000 }) }),
    caught: "claim: the run with the head's merge key comes along, at most mergeMax",
  },
  {
    it: "never merges",
    wrong: (own) => ({ claim: (limits) => own.claim({ ...limits, mergeMax: 1 }) }),
    caught: "claim: the run with the head's merge key comes along, at most mergeMax",
  },
  {
    it: "hands out suspects that nobody asked for",
    wrong: (own) => ({
      async claim(limits) {
        const claimed = await own.claim(limits);
        if (limits.suspects === true) return claimed;
        const more = await own.claim({ ...limits, max: limits.max - claimed.claims.length, suspects: true });
        return { ...more, claims: [...claimed.claims, ...more.claims] };
      },
    }),
    caught: "claim: it does not come by itself, and claim says that there is one",
  },
  {
    it: "does not say when the next job is due",
    wrong: (own) => ({ claim: async (limits) => ({ ...(await own.claim(limits)), nextDueAt: undefined }) }),
    caught: "nextDueAt: it is the soonest of the retries, and undefined while none waits",
  },
  {
    it: "retries at once",
    wrong: instead("retry", (outcome) => (outcome.to === "retry" ? { ...outcome, at: 1, delayMs: 0 } : outcome)),
    caught: "retry: it keeps the lane closed until it is due, and counts",
  },
  {
    it: "freezes a retry when the wall clock jumps back",
    wrong: instead("retry", (outcome) => (outcome.to === "retry" ? { ...outcome, delayMs: Infinity } : outcome)),
    caught: "retry: a wall clock that jumped back does not freeze it",
  },
  {
    it: "counts an attempt that is not counted",
    wrong: instead("retry", (outcome) => (outcome.to === "retry" ? { ...outcome, counted: true } : outcome)),
    caught: "retry: the next attempt has the same number, and the first one's time stays",
  },
  {
    it: "burns an attempt by a release",
    wrong: instead("release", () => ({
      to: "retry",
      at: 0,
      delayMs: 0,
      counted: true,
      error: { name: "Error", message: "released", at: 0 },
    })),
    caught: "release: it is due at once, and no attempt is burned",
  },
  {
    it: "forgets dead jobs",
    wrong: instead("dead", () => ({ to: "done" })),
    caught: "dead: a dead job stays, with its error and when it was settled",
  },
  {
    it: "leaves nothing of a window that is over",
    wrong: instead("dead", (outcome) => (outcome.to === "dead" ? { to: "dead", error: outcome.error } : outcome)),
    caught: "ofWindow: what waits is claimed with that time, and counts its own attempts",
  },
  {
    it: "takes every death for that of a window",
    wrong: instead("dead", (outcome) => (outcome.to === "dead" ? { ...outcome, ofWindow: true } : outcome)),
    caught: "ofWindow: one that is dead of something else leaves nothing",
  },
  {
    it: "counts no death",
    wrong(own) {
      return claimsAs((job) => ({ ...job, deaths: 0 }))(own);
    },
    caught: "deaths: each claimed job counts one attempt and one death, and is due at once",
  },
  {
    it: "lets the claims of a process that died settle",
    wrong: none,
    die() {},
    caught: "settle: the settle of a process that died says false, and changes nothing",
  },
  {
    it: "loses unexpanded deliveries with its process",
    wrong: (own) => ({ unexpanded: async (max) => (died.has(own) ? [] : own.unexpanded(max)) }),
    die(own) {
      died.add(own);
      crashMemoryInbox(own);
    },
    caught: "store: a successor finds unexpanded deliveries, with the cursor of the last part that was expanded",
  },
  {
    it: "settles none of a call of which one time has a fraction",
    wrong: (own) => ({
      settle: (settlements) =>
        settlements.some(({ outcomes }) => outcomes.some((each) => each.to === "retry" && each.delayMs % 1 > 0))
          ? Promise.resolve(settlements.map(() => true))
          : own.settle(settlements),
    }),
    caught: "settle: a delay with a fraction keeps no other from being settled",
    notByModel: true,
  },
  {
    it: "expands none of a call of which one number is odd",
    wrong: (own) => ({
      expand: (expansions) =>
        expansions.some(({ events }) => events.some(({ event }) => (event as { accountId?: number }).accountId === 1.5))
          ? Promise.resolve(expansions.map(() => ({ duplicates: [], conflicts: [] })))
          : own.expand(expansions),
    }),
    caught: "expand: an account with a fraction keeps no other from being expanded",
    notByModel: true,
  },
];
