import type { Claim, Claimed, ClaimedJob, ClaimLimits, JobOutcome, Settlement } from "../../src/inbox/port/claims.ts";
import {
  leave,
  show,
  windowStart,
  type Books,
  type Call,
  type Entry,
  type LifeFacts,
  type OpenClaim,
} from "./ledger.ts";
import type { FlowBook } from "./flow-book.ts";
import { isMoreToMerge, judge } from "./rules.ts";

/** The right to run jobs: who gets it, and what becomes of it. */
export interface Claiming {
  /** Before the inbox is: what comes while it writes may come along, and need not. */
  asked(life: LifeFacts, limits: ClaimLimits): Asked;
  /** The newest job that is there. */
  newest(): number;
  claimed(life: LifeFacts, asked: Asked, found: Claimed): void;
  /** @param newest of the jobs that were there when it was asked for */
  settled(settlement: Settlement, took: boolean, newest: number): void;
  /** The process is gone: each running job counts one death. */
  died(life: LifeFacts): void;
}

interface Asked {
  readonly limits: ClaimLimits;
  /** Of the newest job that was there. */
  readonly newest: number;
  /** Accounts of which something could be claimed. */
  readonly able: ReadonlySet<number | undefined>;
}

const MOST_MERGED = 1_000;
const SUSPECT_DEATHS = 2;
const LAST_DEATH = 3;

export function createClaimRules(books: Books, flow: FlowBook): Claiming {
  const { broken, now } = books;

  function open(life: LifeFacts, claim: Claim, asked: Asked): void {
    const { newest, limits } = asked;
    const { suspects = false } = limits;
    const entries: Entry[] = [];
    for (const job of claim.jobs) {
      const entry = books.entries.get(`${job.deliveryId}.${job.entry}.${job.consumer}`);
      if (entry === undefined) return broken("no job from nowhere", job.id);
      if (entry.state !== "waiting") return broken("never twice", { job: show(entry), state: entry.state });
      if (entry.id !== undefined && entry.id !== job.id) broken("ids", { job: show(entry), id: job.id });
      if ((job.replayOf !== undefined) !== entry.replay) broken("replayOf", { job: show(entry), got: job.replayOf });
      entry.id = job.id;
      books.byId.set(job.id, entry);
      entries.push(entry);
    }
    checkRun(entries, { suspects, newest });
    for (const [index, entry] of entries.entries()) {
      if (entry.isDoubtful) adopt(entry, claim.jobs[index]);
      if (entry.deaths < LAST_DEATH) entry.attempts += 1;
      // A time that is not yet here was noted while the clock was ahead.
      entry.firstAt = Math.min(entry.firstAt ?? now.wall(), now.wall());
      entry.state = "running";
      const { attempt, firstAttemptAt, deaths } = claim.jobs[index] ?? {};
      const isInherited = [entry.inherited, entry.mayInherit].includes(firstAttemptAt);
      if (entry.isFirstAtMarked && !isInherited && (firstAttemptAt ?? Infinity) <= now.wall())
        entry.firstAt = firstAttemptAt;
      if (firstAttemptAt === entry.mayInherit) entry.inherited = entry.mayInherit;
      entry.mayInherit = undefined;
      if (attempt !== entry.attempts || firstAttemptAt !== windowStart(entry) || deaths !== entry.deaths)
        broken("attempts", {
          job: show(entry),
          attempt,
          firstAttemptAt,
          deaths,
          expected: [entry.attempts, windowStart(entry), entry.deaths],
        });
    }
    const one: OpenClaim = { claim, entries, life, look: asked, call: undefined };
    books.claims.set(claim, one);
    for (const entry of entries) entry.claim = one;
  }

  /** The beginning of its lane, due, and all that may come along. */
  function checkRun(entries: readonly Entry[], { suspects, newest }: { suspects: boolean; newest: number }): void {
    const [head] = entries as [Entry];
    const lane = head.lane === undefined ? entries : (books.lanes.get(head.lane) ?? []);
    if (entries.some((entry, index) => lane[index] !== entry))
      broken("a lane in order", { run: entries.map(show), lane: lane.slice(0, 5).map(show) });
    if (entries.length > MOST_MERGED) broken("at most 1,000 in a call", entries.length);
    if (entries.slice(1).some((entry) => !isMoreToMerge(head, entry))) broken("merging", entries.slice(0, 5).map(show));
    const next = lane[entries.length];
    if (next !== undefined && next.number <= newest && entries.length < MOST_MERGED && isMoreToMerge(head, next))
      broken("the whole run comes along", { run: entries.length, next: show(next) });
    if (head.deaths >= SUSPECT_DEATHS !== suspects) broken("suspects apart", { job: show(head), suspects });
    const { retry } = head;
    if (retry !== undefined && retry.jumps === now.jumps() && now.wall() < retry.at)
      broken("a retry waits for its time", { job: show(head), early: retry.at - now.wall() });
  }

  /** Suspects are claimed with nothing beside them, and no more than each may be with; nothing is claimed beside them. */
  function checkGroup(asked: Asked): void {
    const standing = [...books.claims.values()];
    const own = standing.filter(({ look }) => look === asked);
    const before = standing.filter(({ look, call }) => look !== asked && !isStuck(call, books));
    if (own.length === 0) return;
    const [mates, others] = [own, before].map((some) => some.flatMap(({ entries: [head] }) => head ?? [])) as [
      Entry[],
      Entry[],
    ];
    const isGroup = asked.limits.suspects === true;
    if (isGroup ? standing.length > own.length : others.some(({ deaths }) => deaths >= SUSPECT_DEATHS))
      broken("suspects have nothing but their like beside them", {
        claimed: mates.map(show),
        beside: others.map(show),
      });
    const running = before.filter(({ call }) => call !== undefined && call.end === undefined).length;
    const slots = Math.max(books.limits.concurrency - running, 0);
    if (mates.slice(slots).some(({ deaths }) => deaths === 1))
      broken("after one death it is claimed when it is about to run", { running, claimed: mates.map(show) });
    const most = Math.min(...mates.map(({ groupMax }) => groupMax));
    if (isGroup && mates.length > most) broken("a group that died is halved", { group: mates.map(show), most });
  }

  function settle(one: OpenClaim, outcomes: readonly JobOutcome[], newest: number): void {
    judge(books, one, { outcomes, wasHeld: flow.wasHeld });
    if (one.call !== undefined) flow.delayed(one.call);
    books.claims.delete(one.claim);
    for (const [index, entry] of one.entries.entries()) {
      const outcome = outcomes[index] ?? { to: "release" };
      become(entry, outcome, one);
      handOn(entry, outcome, newest);
    }
  }

  /** Its window to those that waited; whoever had one from another leaves it at that, and whoever is done ends it. */
  function handOn(entry: Entry, outcome: JobOutcome, newest: number): void {
    const others = (entry.lane === undefined ? undefined : books.lanes.get(entry.lane)) ?? [];
    if (outcome.to === "done") for (const other of others) other.inherited = other.mayInherit = undefined;
    if (outcome.to !== "dead" || outcome.ofWindow !== true || windowStart(entry) !== entry.firstAt) return;
    for (const other of others) other[other.number > newest ? "mayInherit" : "inherited"] = entry.firstAt;
  }

  function become(entry: Entry, outcome: JobOutcome, { call }: OpenClaim): void {
    switch (outcome.to) {
      case "done":
        books.tally.done += 1;
        return finish(entry, "done");
      case "dead":
        return finish(entry, "dead");
      case "unhandled":
        return finish(entry, "unhandled");
      case "release":
        books.tally.released += 1;
        takeBack(entry);
        entry.state = "waiting";
        entry.retry = undefined;
        return;
      case "retry":
        entry.isFirstAtMarked = false; // what the claim said is written with it
        if (!outcome.counted) entry.attempts -= 1;
        entry.state = "waiting";
        entry.deaths = 0;
        entry.groupMax = Infinity;
        entry.erred = true;
        entry.retry = { at: outcome.at, delayMs: outcome.delayMs, mono: now.mono(), jumps: call?.end?.jumps ?? 0 };
    }
  }

  function finish(entry: Entry, state: "done" | "dead" | "unhandled"): void {
    const lane = entry.lane === undefined ? undefined : books.lanes.get(entry.lane);
    if (state === "done" && lane !== undefined && lane[0] !== entry)
      broken("completions in order", { job: show(entry), before: lane.slice(0, 3).map(show) });
    leave(books, entry, state);
  }

  return {
    asked: ({ plan }, limits) => ({ limits, newest: books.made, able: flow.able(plan) }),
    newest: () => books.made,
    claimed(life, asked, { claims }) {
      const { max } = asked.limits;
      if (claims.length > max) broken("no more than asked for", { max, got: claims.length });
      for (const claim of claims) open(life, claim, asked);
      checkGroup(asked);
      const isOfTurns = books.limits.fairness === "account" && asked.limits.suspects !== true;
      if (isOfTurns)
        flow.checkTurns(
          asked.able,
          [...books.claims.values()].filter(({ look }) => look === asked),
        );
    },
    settled({ claim, outcomes }, took, newest) {
      const found = books.claims.get(claim);
      if (found === undefined) {
        if (took) broken("a lost claim changes nothing", claim.jobs[0].id);
        books.closed.delete(claim);
      } else if (!took) broken("a claim stands until it is settled", found.entries.map(show));
      else settle(found, outcomes, newest);
    },
    died(life) {
      const running = [...books.claims.values()];
      books.closed.clear();
      for (const entry of books.fresh) entry.isDoubtful = entry.state === "waiting" && entry.claim === undefined;
      books.fresh.clear();
      const group = running.filter(({ entries: [head] }) => isSuspect(head)).length;
      for (const one of running) {
        books.claims.delete(one.claim);
        for (const entry of one.entries) {
          entry.state = "waiting";
          entry.retry = undefined;
          entry.isFirstAtMarked ||= entry.attempts === 1;
          const suspect = isSuspect(entry);
          if (suspect) entry.groupMax = Math.min(entry.groupMax, Math.ceil(group / 2));
          if (suspect && group > 1) continue;
          entry.deaths += 1;
          if (entry.deaths === LAST_DEATH) entry.company = companyOf(one, running, books);
        }
      }
      for (const call of books.calls) if (call.life === life) books.calls.delete(call);
    },
  };
}

function isSuspect(entry: Entry | undefined): boolean {
  return (entry?.deaths ?? 0) >= SUSPECT_DEATHS;
}

/** A death that may have been counted, or not. */
function adopt(entry: Entry, { deaths, firstAttemptAt }: Partial<ClaimedJob> = {}): void {
  entry.isDoubtful = false;
  if (deaths !== entry.deaths + 1) return;
  entry.deaths += 1;
  entry.attempts += 1;
  entry.firstAt = firstAttemptAt;
}

/** Whom it was not alone with: handlers that were stuck before it do not count. */
function companyOf(one: OpenClaim, running: readonly OpenClaim[], books: Books): string | undefined {
  const others = running.filter((other) => other !== one && !isStuck(other.call, books));
  if (isStuck(one.call, books) || others.length === 0) return undefined;
  return others.map(({ entries: [head] }) => head && show(head)).join(", ");
}

/** It ignored its abort for all of its grace. */
export function isStuck(call: Call | undefined, { limits, now }: Books): boolean {
  return call?.abortedAt !== undefined && now.mono() >= call.abortedAt + limits.graceMs;
}

function takeBack(entry: Entry): void {
  entry.attempts -= 1;
  if (entry.attempts === 0 && !entry.erred) entry.firstAt = undefined;
}
