import fc from "fast-check";
import type { EventName, JobState, Selection } from "hookline";
import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { inboxWithoutEvents } from "../support/job-fixtures.ts";
import { bodyOf, bookingBody, change } from "../support/make-delivery.ts";
import { heldHandler, rig } from "../support/rig.ts";

/** What becomes of an event: its handler fails for good, fails for now, or holds on; or nobody has one. */
const FATES = ["created", "updated", "deleted", "nobody's"] as const;
const STATES: readonly JobState[] = ["waiting", "running", "done", "skipped", "dead", "unhandled"];
const TYPES: readonly EventName[] = ["email", "email.created", "email.changes", "booking", "contact", "*", "unknown"];

const events = fc.array(fc.record({ fate: fc.constantFrom(...FATES), accountId: fc.integer({ min: 1, max: 3 }) }), {
  maxLength: 12,
});
const filters = fc.record(
  {
    state: fc.oneof(fc.constantFrom(...STATES), fc.uniqueArray(fc.constantFrom(...STATES))),
    type: fc.constantFrom(...TYPES),
    accountId: fc.integer({ min: 1, max: 4 }),
    consumer: fc.constantFrom("default", "search"),
  },
  { requiredKeys: ["state"] },
);
/** By the places of jobs among all; beyond them there is none. */
const places = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 15 });

describe("dryRun", () => {
  test.each(["replay", "drop"] as const)("counts what %s would take, and changes nothing", async (verb) => {
    await fc.assert(
      fc.asyncProperty(events, fc.oneof(filters, places), fc.boolean(), async (given, wanted, bare) => {
        const { receiver, send } = rig(bare ? { inbox: inboxWithoutEvents().inbox } : {});
        const held = heldHandler();
        receiver.on("email.created", () => Promise.reject(new Error("no")), { attempts: 1 });
        receiver.on("email.updated", () => Promise.reject(new Error("no")));
        receiver.on("email.deleted", held.handler, { consumer: "search", lane: "resource" });
        await receiver.start();
        for (const { fate, accountId } of given)
          await send(
            fate === "nobody's"
              ? bookingBody("e-1")
              : bodyOf({ accountId, payloads: [change(`m-${accountId}`, fate)] }),
          );
        await turns();
        const before = (await receiver.jobs.list({ limit: 1_000 })).jobs;
        const selection: Selection = Array.isArray(wanted)
          ? wanted.map((place) => before[place]?.id ?? "none")
          : wanted;
        const dry = await receiver.jobs[verb](selection, { dryRun: true });
        expect((await receiver.jobs.list({ limit: 1_000 })).jobs).toEqual(before);
        expect(await receiver.jobs[verb](selection)).toEqual(dry);
      }),
      { numRuns: 60 },
    );
  });
});
