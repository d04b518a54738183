import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { StorageError } from "../../../src/errors.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { beside, onDisk } from "./on-disk.ts";

test.each([undefined, "", "crm"])("a hit of a tombstone is written for who opens the file next: %j", async (source) => {
  const { inbox, file, clock } = await onDisk();
  await inbox.tombstones.put({ subscription: 5, source, reason: "gone" });
  clock.jump(2 * 60 * 60 * 1_000);
  inbox.tombstones.find(5, source ?? "crm");
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  const hit = db.prepare("SELECT last_hit FROM tombstone");
  await eventually(() => expect(hit.get()).toEqual({ last_hit: clock.now() }));
});

test("none is found while the file cannot be opened: another process may have lifted it", async () => {
  let lose = (): void => {};
  let isOut = false;
  const { inbox, isReady, clock } = await onDisk({
    async openThread(options, events) {
      if (isOut) throw new StorageError("too-many-files", "EMFILE");
      const channel = await openThread(options, events);
      lose = () => {
        channel.abandon();
        events.ended(new StorageError("thread-lost", "the thread is gone"));
      };
      return channel;
    },
  });
  await inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
  expect(inbox.tombstones.find(5, "crm")).toMatchObject({ reason: "gone" });
  isOut = true;
  lose();
  expect(inbox.tombstones.find(5, "crm")).toBeUndefined();
  isOut = false;
  await clock.advance(60_000);
  await isReady();
  expect(inbox.tombstones.find(5, "crm")).toMatchObject({ reason: "gone" });
});

test("none is found while the thread is busy for long: what another process lifts meanwhile is not seen", async () => {
  const { inbox, file } = await onDisk();
  await inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
  const found = () => inbox.tombstones.find(5, "crm");
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  expect(found()).toMatchObject({ reason: "gone" });
  const stored = inbox.store([mail(["a"])]);
  await eventually(() => expect(found()).toBeUndefined());
  other.exec("COMMIT");
  await stored;
  await eventually(() => expect(found()).toMatchObject({ reason: "gone" }));
});

/** What another process does when it lifts one. */
function liftElsewhere(file: string): void {
  const other = new DatabaseSync(file, { timeout: 5_000 });
  other.exec("BEGIN IMMEDIATE; DELETE FROM tombstone; UPDATE state SET tombstones = tombstones + 1; COMMIT");
  other.close();
}

test("none is found that another process lifted while this one computed, although no message was read since", async () => {
  const { inbox, file } = await onDisk();
  await inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
  await eventually(() => expect(inbox.tombstones.find(5, "crm")).toMatchObject({ reason: "gone" }));
  liftElsewhere(file);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  expect(inbox.tombstones.find(5, "crm")).toBeUndefined();
});

test("none is found by what was read before the file was opened anew", async () => {
  const reading = Promise.withResolvers<void>();
  let lose: (() => void) | undefined;
  const { inbox, isReady, file, clock } = await onDisk({
    async openThread(options, events) {
      const channel = await openThread(options, events);
      if (lose !== undefined)
        return {
          ...channel,
          async run(batch) {
            if (batch.tasks.some(({ verb }) => verb === "tombstones")) await reading.promise;
            return channel.run(batch);
          },
        };
      lose = () => {
        channel.abandon();
        events.ended(new StorageError("thread-lost", "the thread is gone"));
      };
      return channel;
    },
  });
  await inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
  lose?.();
  liftElsewhere(file);
  await clock.advance(60_000);
  await isReady();
  expect(inbox.tombstones.find(5, "crm")).toBeUndefined();
  reading.resolve();
  expect(await inbox.tombstones.list()).toEqual([]);
});

test("lifting one resolves when no other process finds it any more, even one whose thread has not looked since", async () => {
  let frozenAt: number | undefined;
  const { inbox, file, host } = await onDisk({
    async openThread(options, { changed, ...events }) {
      const channel = await openThread(options, {
        ...events,
        changed: () => (frozenAt === undefined ? changed() : undefined),
      });
      return {
        ...channel,
        lastLook: () =>
          frozenAt === undefined ? channel.lastLook() : { tombstones: 1, agoMs: performance.now() - frozenAt },
      };
    },
  });
  await inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
  frozenAt = performance.now();
  expect(inbox.tombstones.find(5, "crm")).toMatchObject({ reason: "gone" });
  const other = await beside(file, host);
  await other.tombstones.lift(5, undefined);
  expect(inbox.tombstones.find(5, "crm")).toBeUndefined();
});
