import fc from "fast-check";
import { StorageError, type Claimed, type WorkingInbox } from "hookline/adapter";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { decodeMark } from "../../../adapters/inbox/sqlite/thread/running-mark.ts";
import type { Batch } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { turns } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { onDisk } from "./on-disk.ts";

const AHEAD = { max: 10, mergeMax: 10, ahead: () => 10 };
const FULL = { code: "ERR_SQLITE_ERROR", message: "full", fix: undefined, errcode: 13 };

/** An inbox whose commits are told before they run, and fail where the disk is full. */
async function watched() {
  let told: (batch: Batch) => void = () => {};
  let isFull = false;
  const bench = await onDisk({
    openThread: telling(
      async (...given) => {
        const channel = await openInline(...given);
        const failing = async ({ tasks }: Batch) => tasks.map(() => ({ error: FULL }));
        return { ...channel, run: (batch) => (isFull ? failing(batch) : channel.run(batch)) };
      },
      (batch) => told(batch),
    ),
  });
  const db = new DatabaseSync(bench.file, { readOnly: true });
  onTestFinished(() => db.close());
  const read = db.prepare("SELECT mark, running, open FROM state");
  return {
    ...bench,
    tell: (listener: typeof told) => void (told = listener),
    full: (is: boolean) => void (isFull = is),
    /** What the file says may be running, with its counts. */
    stored() {
      const { mark, running, open } = read.get() ?? {};
      return { marked: [...decodeMark(mark as Uint8Array).entries()].map(({ id }) => id), running, open };
    },
  };
}

test.each<[what: string, remove: (inbox: WorkingInbox) => Promise<number>]>([
  ["dropped", (inbox) => inbox.jobs.drop({ ids: ["2"] })],
  ["erased", async (inbox) => (await inbox.jobs.erase(7)).count],
])("a job that is %s between its choice and its claim is not marked as running", async (_what, remove) => {
  const { inbox, restart, tell, stored } = await watched();
  await inbox.store([mail(["a"], { accountId: 7 })]);
  await restart();
  let claimed: Promise<Claimed> | undefined;
  tell(({ tasks }) => {
    if (tasks.some(({ verb }) => verb === "addRequest")) claimed = inbox.claim(AHEAD);
  });
  expect(await remove(inbox)).toBe(1);
  expect((await claimed)?.claims).toEqual([]);
  expect(stored()).toEqual({ marked: [], running: 0, open: 0 });
});

test("a job that nobody claims in time is taken back also where another delivery of its commit does not fit the tables", async () => {
  const { inbox, stored } = await watched();
  await turns(); // what it does by itself once it is open
  await inbox.claim(AHEAD);
  const unfit = mail(["b"]);
  const results = await Promise.all([
    inbox.store([mail(["a"])]),
    inbox.store([{ ...unfit, delivery: { ...unfit.delivery, receivedAt: Number.NaN } }]),
  ]);
  expect(results.flat().map((result) => result instanceof StorageError)).toEqual([false, true]);
  await eventually(() => expect(stored()).toEqual({ marked: [], running: 0, open: 1 }));
});

test("a job that could neither be taken back nor claimed, because the disk was full, is taken back later", async () => {
  const { inbox, tell, full, stored } = await watched();
  await inbox.claim(AHEAD);
  let refused: Promise<void> | undefined;
  tell(({ tasks }) => {
    if (!tasks.some(({ verb }) => verb === "unclaim") || refused !== undefined) return;
    full(true);
    refused = expect(inbox.claim(AHEAD)).rejects.toThrow("The disk has no room left");
  });
  await inbox.store([mail(["a"])]);
  await eventually(() => expect(refused).toBeDefined());
  await refused;
  expect(stored().marked).toHaveLength(1);
  full(false);
  await inbox.tombstones.put({ subscription: 1, source: undefined, reason: "gone" });
  await eventually(() => expect(stored()).toEqual({ marked: [], running: 0, open: 1 }));
});

test("a mark names what was added and not removed since, and says when it must be stored", () => {
  const id = fc.integer({ min: 1, max: 9 });
  const operation = fc.oneof(
    fc.record({ verb: fc.constant("add" as const), id, claimedAt: fc.nat(), isFresh: fc.boolean() }),
    fc.record({ verb: fc.constant("remove" as const), id }),
    fc.record({ verb: fc.constantFrom("clear" as const, "store" as const) }),
  );
  fc.assert(
    fc.property(fc.array(operation), (operations) => {
      let mark = decodeMark(new Uint8Array());
      const expected = new Map<number, { id: number; claimedAt: number; isFresh: boolean }>();
      let isChanged = false;
      for (const one of operations) {
        if (one.verb === "add") {
          const { verb: _, ...job } = one;
          mark.add(job.id, job.claimedAt, job.isFresh);
          expected.set(job.id, job);
          isChanged = true;
        } else if (one.verb === "remove") {
          const before = expected.get(one.id);
          expect(mark.remove(one.id)).toBe(before && (before.isFresh ? "fresh" : "row"));
          isChanged = expected.delete(one.id) || isChanged;
        } else if (one.verb === "clear") {
          mark.clear();
          expected.clear();
          isChanged = true;
        } else {
          const stored = mark.encode();
          expect(mark.isChanged).toBe(false);
          // As SQLite gives it: in the middle of a larger buffer.
          mark = decodeMark(new Uint8Array([7, ...stored]).subarray(1));
          isChanged = false;
        }
        expect([...mark.entries()].toSorted((a, b) => a.id - b.id)).toEqual(
          [...expected.values()].toSorted((a, b) => a.id - b.id),
        );
        expect([mark.size, mark.isChanged]).toEqual([expected.size, isChanged]);
        for (let asked = 1; asked < 10; asked += 1) expect(mark.has(asked)).toBe(expected.has(asked));
      }
    }),
  );
});
