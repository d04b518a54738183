import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { changes, expectBare, mounted } from "../support/mounted.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const COUNT = 30_000;
const RECORDS = 100;
const MIB = 1024 * 1024;

/** As many entries as fit, each record's in a sequence of its own. */
function manyEntries(): string {
  const entries = Array.from(
    { length: COUNT },
    (_, at) => `{"id":"r${at % RECORDS}","changeType":"created","n":${at}}`,
  );
  return changes({ payloads: [] }).replace("[]", `[${entries.join()}]`);
}

describe("a delivery of 30,000 entries", () => {
  const body = manyEntries();

  test("gets 200 before any of it is expanded, and each entry is then handled once, in order in its lane", async () => {
    const events: [stored: number, seen: number][] = [];
    const lanes = new Map<string, number[]>();
    let handled = 0;
    const inbox = stubInbox((own) => ({
      store: (all) => {
        events.push([all.length, handled]);
        // Not expanded in the commit that is waited for by the sender.
        expect(all.map((one) => one.events)).toEqual([undefined]);
        return own.store(all);
      },
    }));
    const { deliver, receiver } = await mounted({
      inbox,
      maxBodyBytes: 2 * MIB,
      prepare: (own) =>
        void own.on(
          "email.created",
          (event) => {
            handled += 1;
            const lane = lanes.get(event.id) ?? [];
            lanes.set(event.id, lane);
            lane.push((event as unknown as { n: number }).n);
          },
          { merge: false },
        ),
    });
    await receiver.start();
    expectBare(await deliver(body), 200);
    expect(events).toEqual([[1, 0]]);
    await receiver.idle();
    expect(handled).toBe(COUNT);
    expect(lanes.size).toBe(RECORDS);
    for (const [id, seen] of lanes) {
      const first = Number(id.slice(1));
      expect(seen).toEqual(Array.from({ length: COUNT / RECORDS }, (_, at) => first + at * RECORDS));
    }
    expect(receiver.stats()).toMatchObject({ succeeded: COUNT, merged: 0, failed: 0 });
  });

  test("is expanded a thousand at a time, and the loop turns between two of them", async () => {
    const parts: { readonly size: number; readonly turn: number }[] = [];
    let turn = 0;
    let ended = false;
    const tick = (): void => {
      turn += 1;
      if (!ended) setImmediate(tick);
    };
    const inbox = stubInbox((own) => ({
      expand: (all) => {
        parts.push({ size: all.reduce((sum, { events }) => sum + events.length, 0), turn });
        return own.expand(all);
      },
    }));
    const { deliver, receiver } = await mounted({
      inbox,
      maxBodyBytes: 2 * MIB,
      prepare: (own) => void own.on("email.created", () => {}),
    });
    await receiver.start();
    tick();
    expectBare(await deliver(body), 200);
    await receiver.idle();
    ended = true;
    expect(parts.map(({ size }) => size)).toEqual(Array.from({ length: COUNT / 1_000 }, () => 1_000));
    const turns = parts.map((part) => part.turn);
    expect(new Set(turns).size).toBe(turns.length);
  });

  test("does not hold up the answer to a small one that comes while it is being handled", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let handled = 0;
    const count = async (): Promise<void> => {
      await released;
      handled += 1;
    };
    const { deliver, receiver } = await mounted({
      maxBodyBytes: 2 * MIB,
      prepare: (own) => void own.on("email.created", count).on("contact.created", count),
    });
    await receiver.start();
    expectBare(await deliver(body), 200);
    expectBare(await deliver(changes({ resource: "/contacts" })), 200);
    expect(handled).toBe(0);
    release();
    await receiver.idle();
    // Changes of one record that wait are one call.
    expect(receiver.stats()).toMatchObject({ succeeded: COUNT + 1, merged: COUNT + 1 - handled });
  });

  test("is refused as a whole by an inbox that has no room for its bytes", async () => {
    const { deliver, receiver } = await mounted({ maxBodyBytes: 2 * MIB, inbox: memoryInbox({ maxBytes: MIB / 2 }) });
    await receiver.start();
    expectBare(await deliver(body), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { "inbox-full": 1 } });
    expectBare(await deliver(), 200);
  });
});
