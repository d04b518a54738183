import { memoryInbox, type Inbox } from "hookline";
import type { Claim, ClaimedJob, JobOutcome, Settlement } from "../../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import type { InboxSubject } from "../../suites/inbox/inbox-subject.ts";
import { crashMemoryInbox } from "../crash-memory-inbox.ts";

type Verbs = WorkingInbox<"memory">;

/** A memory inbox of which some verbs are wrong. */
export type Break = (own: Verbs) => Partial<Verbs>;

/** A bug, and who catches it. */
export interface Bug {
  /** What the inbox does. */
  readonly it: string;
  readonly wrong: Break;
  readonly die?: (own: Verbs) => void;
  /** One of the cases that catch it. */
  readonly caught: string;
  /** Not seen by the model: what is lossy, or told beside. */
  readonly notByModel?: true;
}

/** A subject whose inbox is broken, or whose death is. */
export function brokenSubject(
  wrong: Break,
  die: (own: Verbs) => void = crashMemoryInbox,
): Required<Omit<InboxSubject, "beside">> {
  const behind = new WeakMap<Inbox, Verbs>();
  return {
    make() {
      const own = memoryInbox() as Verbs;
      const inbox: Verbs = { ...own, ...wrong(own) };
      behind.set(inbox, own);
      return inbox;
    },
    crash(inbox) {
      const own = behind.get(inbox);
      if (own !== undefined) die(own);
      return inbox;
    },
    cleanup() {},
  };
}

/** One that is told other outcomes. */
export function outcomesAs(change: (outcome: JobOutcome) => JobOutcome): Break {
  return (own) => ({
    settle: (settlements) =>
      own.settle(settlements.map(({ claim, outcomes }) => ({ claim, outcomes: outcomes.map((each) => change(each)) }))),
  });
}

/** One whose claims look otherwise. */
export function claimsAs(change: (job: ClaimedJob) => ClaimedJob): Break {
  return (own) => {
    const real = new WeakMap<Claim, Claim>();
    const toReal = ({ claim, outcomes }: Settlement): Settlement => ({ claim: real.get(claim) ?? claim, outcomes });
    return {
      async claim(limits) {
        const claimed = await own.claim(limits);
        const claims = claimed.claims.map((claim) => {
          const shown = { jobs: claim.jobs.map((job) => change(job)) } as unknown as Claim;
          real.set(shown, claim);
          return shown;
        });
        return { ...claimed, claims };
      },
      settle: (settlements) => own.settle(settlements.map(toReal)),
    };
  };
}

/** One whose hands are wrong. */
export function handsAs(change: (jobs: Verbs["jobs"]) => Partial<Verbs["jobs"]>): Break {
  return (own) => ({ jobs: { ...own.jobs, ...change(own.jobs) } });
}
