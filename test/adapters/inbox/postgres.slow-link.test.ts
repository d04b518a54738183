import { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createLanes, type Origin, type Row } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { FRESH } from "../../../src/adapter.ts";
import { newDatabase } from "../../support/postgres.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

const LEASE_MS = 2_000;
const LARGE_BYTES = 1_000_000;
/** A large body takes twice the lease: it comes as text, of two letters a byte. */
const BYTES_A_MS = LARGE_BYTES / LEASE_MS;

/** What it receives comes slowly. */
class SlowSocket extends Socket {
  /** In their order: on a busy machine a later timer may fire first. */
  readonly #coming: (Uint8Array | null)[] = [];
  protected freeAt = 0;
  protected readonly bytesAMs: number = BYTES_A_MS;

  override push(chunk: Uint8Array | null): boolean {
    const now = performance.now();
    this.freeAt = Math.max(now, this.freeAt) + (chunk?.byteLength ?? 0) / this.bytesAMs;
    this.#coming.push(chunk);
    setTimeout(() => super.push(this.#coming.shift() ?? null), this.freeAt - now).unref();
    return true;
  }
}

/** The server feels it, too, once the buffers of the system are full. */
class BackPressureSocket extends SlowSocket {
  protected override readonly bytesAMs: number = 8_000;

  override push(chunk: Uint8Array | null): boolean {
    super.push(chunk);
    const waitMs = this.freeAt - performance.now();
    if (waitMs < 20) return true;
    this.pause();
    setTimeout(() => this.resume(), waitMs).unref();
    return false;
  }
}

test("a body that takes longer than the lease is read all the same, and holds up no other job", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  const first = await processes.start();
  const small = Array.from({ length: 20 }, (_, nth) => `small ${nth}`);
  await storeAll(first.inbox, mail(["large"], { filler: "x".repeat(LARGE_BYTES) }), ...small.map((id) => mail([id])));
  await first.inbox.close();

  const stream = (): Socket => new SlowSocket();
  const { inbox, log } = await processes.start({ leaseMs: LEASE_MS, connection: { connectionString, stream } });
  const seen: string[] = [];
  await processes.passing(async () => {
    const { claims } = await inbox.claim({ max: 100, mergeMax: 1 }).catch(() => ({ claims: [] }));
    seen.push(...recordsOf(claims).flat());
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    expect(new Set(seen), log.text()).toEqual(new Set(["large", ...small]));
  });
  expect(seen.at(-1)).toBe("large");
  // The first step that reads it is what shows that it is too large.
  expect(log.of("inbox-failed").length).toBeLessThan(3);
});

test("where the server cancels what a slow link takes too long for, less is read, of jobs and of deliveries without any", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  const first = await processes.start();
  const ids = Array.from({ length: 12 }, (_, nth) => `m ${nth}`);
  const delivery = (id: string) => mail([id], { filler: "x".repeat(LARGE_BYTES) });
  await storeAll(first.inbox, ...ids.map(delivery));
  await storeAll(first.inbox, ...ids.map((id) => Object.assign(delivery(id), { events: undefined })));
  await first.inbox.close();

  // All of them take three times as long, each one a quarter.
  await processes.sql.query(
    `do $$ begin execute format('alter database %I set statement_timeout = 1000', current_database()); end $$`,
  );
  const stream = (): Socket => new BackPressureSocket();
  const { inbox, log } = await processes.start({ connection: { connectionString, stream } });
  const seen: string[] = [];
  await processes.passing(async () => {
    const { claims } = await inbox.claim({ max: 100, mergeMax: 1 }).catch(() => ({ claims: [] }));
    seen.push(...recordsOf(claims).flat());
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    expect(new Set(seen), log.text()).toEqual(new Set(ids));
  });
  const page = await inbox.unexpanded(100).catch(() => inbox.unexpanded(100));
  expect(page.length).toBeGreaterThan(0);
});

test("a job that was taken and has not begun waits still", () => {
  const lanes = createLanes();
  lanes.append({ id: 1, receivedAt: 5, progress: FRESH } as Row, 9);
  const [run] = lanes.take({ max: 1, mergeMax: 1 }, 9);
  expect(lanes.stats()).toMatchObject({ waiting: 1, oldestWaitingAt: 5 });
  lanes.giveBack(run!, 9);
  const [again] = lanes.take({ max: 1, mergeMax: 1 }, 9);
  lanes.begin(again!, () => ({}) as Origin, 9);
  expect(lanes.stats()).toMatchObject({ waiting: 0, running: 1, oldestWaitingAt: undefined });
});
