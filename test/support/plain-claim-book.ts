import assert from "node:assert/strict";
import { createClaimBook, type ClaimBook, type ClaimRecord } from "../../src/inbox/claim-book.ts";
import type { ClaimState } from "../../src/inbox/claim-state.ts";
import { isSuspect, orphaned } from "../../src/inbox/job-deaths.ts";
import { claimed, isDue, settled, type Progress } from "../../src/inbox/job-state.ts";
import type { Claim, ClaimedJob, JobOutcome } from "../../src/inbox/port/claims.ts";
import { laneRow, type TestRow } from "./lane-rows.ts";

/** A job as plainly as it can be said. */
interface PlainJob {
  row: TestRow;
  progress: Progress;
}

interface PlainClaim {
  readonly record: ClaimRecord<TestRow>;
  readonly claim: Claim;
  jobs: readonly PlainJob[];
  /** The book that it was taken from. */
  readonly book: ClaimBook<TestRow>;
  state: ClaimState;
  /** Of each job, once it is planned. */
  planned: readonly Progress[];
}

export const LANES = ["a", "b", "c"] as const;

/** A claim book beside its specification: arrays that are looked through each time. Each verb does both, and compares. */
export class PlainClaimBook {
  now = 1_000_000;
  /** That are not gone, in the order of ids. */
  jobs: PlainJob[] = [];
  /** That there ever were. */
  readonly claims: PlainClaim[] = [];
  changed: TestRow[] = [];
  book = createClaimBook<TestRow>((row) => void this.changed.push(row));

  append(lane: string | undefined, mergeKey: string | undefined): void {
    const row = laneRow(lane, mergeKey);
    this.jobs.push({ row, progress: row.progress });
    this.book.append(row, this.now);
  }

  take(limits: { max: number; mergeMax: number; suspects?: boolean }): void {
    const may = this.#runs(limits.mergeMax).filter(
      ([head]) => isSuspect(head?.progress as Progress) === (limits.suspects ?? false),
    );
    const records = this.book.take(limits, this.now);
    if (limits.suspects !== true) assert.equal(records.length, Math.min(limits.max, may.length));
    for (const record of records) {
      const jobs = may.find(([head]) => head?.row === record.rows[0]) ?? [];
      assert.deepEqual(
        record.rows,
        jobs.map(({ row }) => row),
      );
      for (const job of jobs) job.progress = claimed(job.progress, this.now);
      this.claims.push({ record, claim: record.claim, jobs, book: this.book, state: "ahead", planned: [] });
    }
  }

  begin(one: PlainClaim): void {
    const claim = one.book.begin(one.record, toClaimed, this.now);
    const isWhole = one.jobs.every(({ progress }) => progress.state === "running");
    assert.equal(claim, isWhole && this.#isCurrent(one) ? one.claim : undefined);
    if (claim !== undefined) {
      assert.deepEqual(
        claim.jobs.map(({ id }) => id),
        one.jobs.map(({ row }) => String(row.id)),
      );
      one.state = "running";
    } else if (this.#isCurrent(one)) this.#release(one);
  }

  shorten(one: PlainClaim, length: number): void {
    one.book.shorten(one.record, length, this.now);
    for (const job of one.jobs.slice(length)) this.#waitAgain(job);
    one.jobs = one.jobs.slice(0, length);
  }

  giveBack(one: PlainClaim): void {
    one.book.giveBack(one.record, this.now);
    this.#release(one);
  }

  plan(one: PlainClaim, outcomes: readonly JobOutcome[]): void {
    const plan = this.book.plan(one.claim, outcomes, this.now);
    const isPlanned = one.state === "running" && this.#isCurrent(one);
    assert.equal(plan, isPlanned ? one.record : undefined);
    if (one.state === "lost") this.#release(one);
    if (!isPlanned) return;
    one.state = "settling";
    one.planned = one.jobs.map((job, place) => settled(job.progress, outcomes[place] ?? { to: "release" }, this.now));
    const isDone = one.planned.every(({ state }) => state === "done");
    assert.deepEqual(plan?.progress, isDone ? undefined : one.planned);
  }

  holds(one: PlainClaim): void {
    assert.equal(one.book.holds(one.record, this.now), one.state === "settling");
    if (one.state === "lost") return this.#release(one);
    one.state = "ended";
    if (!this.#isCurrent(one)) return; // what becomes of its jobs is read by the tenure after it
    for (const [place, job] of one.jobs.entries()) job.progress = one.planned[place] ?? job.progress;
    this.#forgetEnded();
  }

  mayNotHold(one: PlainClaim): void {
    one.book.mayNotHold(one.record);
    if (one.state === "settling") one.state = this.#isCurrent(one) ? "running" : "ended"; // no other plan holds
  }

  handlerEnded(one: PlainClaim): void {
    one.book.handlerEnded(one.claim, this.now);
    if (one.state === "lost") this.#release(one);
  }

  revoke(): void {
    const running = this.claims.filter((one) => one.state === "running");
    assert.deepEqual(
      this.book.revoke(),
      running.map(({ claim }) => claim),
    );
    for (const one of running) one.state = "lost";
  }

  remove(jobs: readonly PlainJob[]): void {
    const lost = this.claims.filter(
      (one) =>
        (one.state === "running" || one.state === "settling") &&
        this.#isCurrent(one) &&
        one.jobs.some((job) => jobs.includes(job)),
    );
    assert.deepEqual(
      this.book.remove(new Set(jobs.map(({ row }) => row)), this.now),
      lost.map(({ claim }) => claim),
    );
    for (const one of lost) one.state = "lost";
    for (const job of jobs) job.progress = { ...job.progress, state: "done" };
    this.#forgetEnded();
  }

  orphan(): void {
    this.book.orphan(this.now);
    for (const one of this.claims) if (this.#isOpen(one)) one.state = "ended";
    this.#orphan();
  }

  /** The storage counted a death for what ran, and its jobs are read from it. */
  nextTenure(): void {
    for (const one of this.claims) if (one.state === "running") one.state = "ended";
    this.book = this.book.nextTenure((row) => void this.changed.push(row));
    this.#orphan();
    this.jobs = this.jobs.map(({ row, progress }) => ({
      row: { ...row, progress, next: undefined, queuedIn: undefined },
      progress,
    }));
    for (const { row } of this.jobs) this.book.append(row, this.now);
  }

  /** All that can be seen of the book is as it should be. @param before what it was before the last verb */
  compare(before: ReadonlyMap<TestRow, Progress>): void {
    for (const { row, progress } of this.jobs) assert.deepEqual(row.progress, progress);
    const news = [...before].filter(([row, progress]) => row.progress !== progress && row.progress.state !== "running");
    assert.deepEqual(new Set(this.changed), new Set(news.map(([row]) => row)));
    assert.equal(this.changed.length, news.length);
    this.changed = [];
    const open = this.claims.filter((one) => this.#isOpen(one));
    const lanes = open.flatMap(({ jobs: [head] }) => head?.row.lane ?? []);
    assert.equal(new Set(lanes).size, lanes.length);
    const mine = open.filter((one) => this.#isCurrent(one));
    assert.deepEqual(
      [...this.book.taken()],
      mine.flatMap(({ jobs }) => jobs.map(({ row }) => row)),
    );
    const valid = mine.filter(({ state }) => state === "running" || state === "settling");
    assert.equal(this.book.running(), valid.flatMap(({ jobs }) => jobs).length);
    for (const one of this.claims) {
      const rows = one.state === "running" && this.#isCurrent(one) ? one.jobs.map(({ row }) => row) : undefined;
      assert.deepEqual(this.book.rowsOf(one.claim), rows);
      if (this.#isCurrent(one)) assert.equal(one.record.state, one.state);
    }
    for (const lane of LANES)
      assert.equal(this.book.isFree(lane), !lanes.includes(lane) && !this.jobs.some(({ row }) => row.lane === lane));
  }

  /** No job waits, and no lane is closed. */
  get isEmpty(): boolean {
    return this.jobs.length === 0 && !this.claims.some((one) => this.#isOpen(one));
  }

  snapshot(): Map<TestRow, Progress> {
    return new Map([...this.jobs, ...this.claims.flatMap(({ jobs }) => jobs)].map(({ row }) => [row, row.progress]));
  }

  #isCurrent({ book }: PlainClaim): boolean {
    return book === this.book;
  }

  /** Its lane is closed. */
  #isOpen(one: PlainClaim): boolean {
    return one.state === "lost" || (one.state !== "ended" && this.#isCurrent(one));
  }

  #release(one: PlainClaim): void {
    one.state = "ended";
    for (const job of one.jobs) this.#waitAgain(job);
  }

  #waitAgain(job: PlainJob): void {
    if (job.progress.state === "running") job.progress = settled(job.progress, { to: "release" }, this.now);
  }

  #forgetEnded(): void {
    this.jobs = this.jobs.filter(({ progress: { state } }) => state === "waiting" || state === "running");
  }

  #orphan(): void {
    const running = this.jobs.filter(({ progress }) => progress.state === "running");
    const orphans = orphaned(running.map(({ progress }) => progress));
    for (const [place, job] of running.entries()) job.progress = orphans[place] ?? job.progress;
  }

  /** What may be taken. */
  #runs(mergeMax: number): PlainJob[][] {
    const closed = new Set(this.claims.filter((one) => this.#isOpen(one)).map(({ jobs: [head] }) => head?.row.lane));
    const lanes = Map.groupBy(this.jobs, ({ row }) => row.lane ?? row.id);
    return [...lanes.values()].flatMap(([head, ...behind]) => {
      if (head === undefined || head.progress.state !== "waiting" || !isDue(head.progress, this.now)) return [];
      if (head.row.lane !== undefined && closed.has(head.row.lane)) return [];
      const end = behind.findIndex((job) => !merges(head, job));
      return [[head, ...behind.slice(0, end < 0 ? undefined : end)].slice(0, mergeMax)];
    });
  }
}

function merges(head: PlainJob, job: PlainJob): boolean {
  const isSame = head.row.mergeKey !== undefined && head.row.mergeKey === job.row.mergeKey;
  return isSame && !isSuspect(head.progress) && !isSuspect(job.progress);
}

function toClaimed({ id }: TestRow): ClaimedJob {
  return { id: String(id) } as ClaimedJob;
}
