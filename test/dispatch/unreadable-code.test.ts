import { GiveUp } from "hookline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { turns, watch } from "../support/event-loop.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, rig } from "../support/rig.ts";

/** What would have ended the process. */
const ends: unknown[] = [];
const note = (error: unknown): void => void ends.push(error);

beforeEach(() => {
  ends.length = 0;
  process.on("unhandledRejection", note);
});

afterEach(async () => {
  await turns();
  process.off("unhandledRejection", note);
  expect(ends).toEqual([]);
});

const stored = (body: string, id = "d-1") => toStored(id, makeDelivery(body));

test.each([1, 2, 3, 4, 5, 6])("a code that can be read %d times leaves neither slot nor lane behind", async (times) => {
  const { receiver } = rig({ concurrency: 1 });
  let calls = 0;
  receiver.on("email", async () => {
    calls += 1;
    if (calls > 1) return;
    let reads = 0;
    throw Object.defineProperty(new GiveUp("no"), "code", {
      get() {
        reads += 1;
        if (reads > times) throw new Error("it cannot be read");
        return "give-up";
      },
    });
  });
  const first = watch(receiver.handle(stored(emails("a"))));
  const second = watch(receiver.handle(stored(emails("a"), "d-2")));
  await turns();
  expect([first.ended, second, calls]).toEqual([true, { ended: true }, 2]);
});
