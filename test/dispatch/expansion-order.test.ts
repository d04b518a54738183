import { describe, expect, test } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const many = (name: string, count: number): string =>
  emails(...Array.from({ length: count }, (_, index) => `${name}-${index}`));

describe("expansion follows the ids of deliveries:", () => {
  test("one that comes behind a delivery too large for a commit is left unexpanded with it", async () => {
    const given: (number | undefined)[] = [];
    const inbox = stubInbox((own) => ({
      store(deliveries) {
        given.push(...deliveries.map(({ events }) => events?.length));
        return own.store(deliveries);
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await turns();
    await Promise.all([send(many("first", 2)), send(many("large", 1_001)), send(emails("behind"))]);
    await receiver.idle();
    expect(given).toEqual([2, undefined, undefined]);
    expect(seen.slice(0, 3)).toEqual(["first-0", "first-1", "large-0"]);
    expect([seen.length, seen.at(-1)]).toEqual([1_004, "behind"]);
  });

  test("what comes while an older one waits to be expanded waits behind it", async () => {
    const expanding = deferred();
    const inbox = stubInbox((own) => ({
      expand: async (expansions) => {
        await expanding.promise;
        return own.expand(expansions);
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await send(many("large", 1_001));
    await send(emails("behind"));
    await turns();
    expect([seen, receiver.stats().stored]).toEqual([[], 2]);
    expanding.resolve();
    await receiver.idle();
    expect([seen[0], seen.at(-1)]).toEqual(["large-0", "behind"]);
  });

  test("a commit expands no more than 5,000 events, so that the loop goes on", async () => {
    const given: (number | undefined)[][] = [];
    const inbox = stubInbox((own) => ({
      store(deliveries) {
        given.push(deliveries.map(({ events }) => events?.length));
        return own.store(deliveries);
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await turns();
    await Promise.all(["a", "b", "c", "d", "e", "f", "g"].map((name) => send(many(name, 900))));
    await receiver.idle();
    const expanded = given.map((batch) => batch.reduce<number>((sum, count) => sum + (count ?? 0), 0));
    expect(Math.max(...expanded)).toBeLessThanOrEqual(5_000);
    expect(new Set(seen).size).toBe(6_300);
  });
});

describe("a strange entry among a hundred", () => {
  test("is one unknown event; the others reach their handler, in array order", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    const { seen, handler: ofEmail } = recordingHandler();
    receiver.on("email", ofEmail, { lane: "account" });
    receiver.on("unknown", handler);
    await receiver.start();
    const payloads = Array.from({ length: 100 }, (_, index) =>
      change(`m-${index}`, index === 50 ? "moved" : "updated"),
    );
    await send(bodyOf({ payloads }));
    await turns();
    expect(calls.map(({ event }) => event)).toMatchObject([{ type: "unknown", reason: "value", accountId: 2002 }]);
    calls[0]?.end();
    await receiver.idle();
    expect(seen).toEqual(payloads.map(({ id }) => id).filter((id) => id !== "m-50"));
  });
});

describe("a lane given by a function", () => {
  test("is asked for once a job, when the job is made: a retry does not ask again", async () => {
    const { receiver, send, pass } = rig();
    const asked: string[] = [];
    const { seen, handler } = recordingHandler(() => {
      if (seen.length < 4) throw new Error("no");
    });
    receiver.on("email", handler, { lane: (event) => (asked.push(idOf(event)), `lane ${asked.length}`) });
    await receiver.start();
    await send(emails("a", "b"));
    await pass(60_000);
    expect([asked, seen.length]).toEqual([["a", "b"], 5]);
  });
});
