import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, rig } from "../support/rig.ts";

describe("a lane", () => {
  test("never runs two at once, and runs in order; whatever the durations and however much fails", async () => {
    const step = fc.record({
      record: fc.constantFrom("a", "b", "c"),
      ms: fc.nat(3_000),
      fails: fc.nat(2),
      gap: fc.nat(800),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, concurrency) => {
          const { receiver, send, pass, clock } = rig({ concurrency, clock: fakeClock() });
          const running = new Map<string, number>();
          const ended: Record<string, number[]> = { a: [], b: [], c: [] };
          const wrong: string[] = [];
          let most = 0;
          const left = steps.map(({ fails }) => fails);
          receiver.on(
            "email",
            async (event, ctx) => {
              const index = Number((event as { readonly index?: number }).index);
              const { record, ms } = steps[index] ?? { record: "", ms: 0 };
              expect(idOf(event)).toBe(record);
              expect(running.has(record)).toBe(false);
              running.set(record, index);
              most = Math.max(most, running.size);
              await new Promise<void>((resolve) => void clock.setTimer(resolve, ms));
              running.delete(record);
              const fails = left[index] ?? 0;
              if (ctx.attempt !== (steps[index]?.fails ?? 0) - fails + 1) wrong.push(`attempt ${ctx.attempt}`);
              left[index] = fails - 1;
              if (fails > 0) throw new Error("no");
              ended[record]?.push(index);
            },
            { merge: false },
          );
          await receiver.start();
          for (const [index, { record, gap }] of steps.entries()) {
            await send(bodyOf({ payloads: [{ ...change(record), index }] }));
            await pass(gap);
          }
          await pass(3_600_000);
          expect([wrong, running.size]).toEqual([[], 0]);
          expect(most).toBeLessThanOrEqual(concurrency);
          for (const record of ["a", "b", "c"])
            expect(ended[record]).toEqual(steps.flatMap((one, index) => (one.record === record ? [index] : [])));
          await receiver.close();
        },
      ),
      { numRuns: 40 },
    );
  });

  test("loses no change, whatever merges, fails and comes meanwhile: each is in one call that ended well, in order", async () => {
    const step = fc.record({
      record: fc.constantFrom("a", "b"),
      ms: fc.nat(900),
      gap: fc.nat(600),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        const { receiver, send, pass, clock } = rig({ clock: fakeClock() });
        const handled: number[] = [];
        let calls = 0;
        receiver.on("email.changes", async (event) => {
          const { ms, fails } = steps[calls % steps.length] ?? { ms: 0, fails: false };
          calls += 1;
          await new Promise<void>((resolve) => void clock.setTimer(resolve, ms));
          if (fails && calls % 3 !== 0) throw new Error("no");
          handled.push(...event.changes.map((one) => Number((one as { readonly index?: number }).index)));
        });
        await receiver.start();
        for (const [index, { record, gap }] of steps.entries()) {
          await send(bodyOf({ payloads: [{ ...change(record), index }] }));
          await pass(gap);
        }
        await pass(3_600_000);
        expect(handled).toEqual(steps.map((_, index) => index));
        expect(receiver.stats()).toMatchObject({ succeeded: steps.length, dead: 0 });
        await receiver.close();
      }),
      { numRuns: 40 },
    );
  });

  test("by `account` is one for all of a family, by `none` there is none", async () => {
    for (const [lane, together] of [
      ["account", 1],
      ["resource", 1],
      ["record", 3],
      ["none", 3],
    ] as const) {
      const { receiver, send } = rig();
      const { calls, handler } = heldHandler();
      receiver.on("email", handler, { lane });
      await receiver.start();
      await send(emails("a", "b", "c"));
      await turns();
      expect([lane, calls.length]).toEqual([lane, together]);
    }
  });

  test("by a function is shared by all handlers of the consumer that give it, and by no other consumer's", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    const lane = (): string => "one for all";
    receiver.on("email", handler, { lane });
    receiver.on("contact", handler, { lane });
    receiver.on("contact", handler, { lane, consumer: "search" });
    await receiver.start();
    await send(emails("a"));
    await send(bodyOf({ resource: "/contacts" }));
    await turns();
    expect(calls.map(({ event }) => event.type)).toEqual(["email.updated", "contact.updated"]);
    calls[0]?.end();
    await turns();
    expect(calls.map(({ event }) => event.type)).toEqual(["email.updated", "contact.updated", "contact.updated"]);
  });

  test("whose function throws is that of the record", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, {
      merge: false,
      lane: () => {
        throw new Error("no");
      },
    });
    await receiver.start();
    await send(emails("a", "a", "b"));
    await turns();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
  });
});

test("`concurrency` jobs run at once", async () => {
  const { receiver, send } = rig({ concurrency: 3 });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b", "c", "d", "e"));
  await turns();
  expect(calls).toHaveLength(3);
  calls[1]?.end();
  await turns();
  expect(calls).toHaveLength(4);
});

test("consumers have lanes of their own: one does not wait for the other", async () => {
  const { receiver, send } = rig();
  const [one, other] = [heldHandler(), heldHandler()];
  receiver.on("email", one.handler, { merge: false });
  receiver.on("email", other.handler, { consumer: "search", merge: false });
  await receiver.start();
  await send(emails("a"));
  await send(emails("a"));
  await turns();
  other.last().end();
  await turns();
  expect([one.calls.length, other.calls.length]).toEqual([1, 2]);
});
