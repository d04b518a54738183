import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { completionOf } from "../../src/inbox/port/transactional.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";
import { emails, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const idOf = (event: object): string => String((event as { readonly id?: string }).id);
const isBad = ({ jobs }: Claim): boolean => jobs.some(({ event }) => event !== undefined && idOf(event) === "bad");

/** The process died that many times while "bad" ran. */
async function died(times: number, own: WorkingInbox<"memory">, clock: FakeClock): Promise<void> {
  for (let death = 0; death < times; death += 1) {
    const before = rig({ inbox: own, clock, gaps: false });
    before.receiver.on("email", () => new Promise(() => {}));
    await before.receiver.start();
    if (death === 0) await before.send(emails("bad"));
    await before.pass(100);
    await own.close();
  }
}

/** Its handler has ended, and then ... */
const UNSETTLED = {
  "the inbox refuses its outcome": (own: WorkingInbox<"memory">) => ({
    settle: async (given: Parameters<WorkingInbox["settle"]>[0]) => {
      if (given.some(({ claim, outcomes: [first] }) => isBad(claim) && first?.to === "done")) throw new Error("22021");
      return own.settle(given);
    },
  }),
  "its transaction stays open": (_: WorkingInbox<"memory">, clock: FakeClock) => ({
    transactional: {
      complete: async () => {},
      isCompleted: async () => {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, 250));
        return undefined;
      },
    },
  }),
};

describe.each(Object.entries(UNSETTLED))("a job that is not settled: %s", (_, unsettled) => {
  async function openRig(deaths: number, perAccount: number | undefined) {
    const clock = fakeClock();
    const own = memoryInbox() as WorkingInbox<"memory">;
    await died(deaths, own, clock);
    const { receiver, send, pass } = rig({
      inbox: stubInbox(() => ({ ...own, ...unsettled(own, clock) })),
      clock,
      gaps: false,
    });
    const seen: string[] = [];
    receiver.on(
      "email",
      async (event, ctx) => {
        seen.push(idOf(event));
        if (idOf(event) === "bad") await completionOf(ctx)?.complete({} as never);
      },
      { perAccount },
    );
    await receiver.start();
    if (deaths === 0) await send(emails("bad"));
    await pass(15_000); // one failure says little: the outcome may be stored all the same
    expect(seen).toEqual(["bad"]);
    return { send, pass, seen };
  }

  test.each([
    { of: "", deaths: 0, perAccount: undefined },
    { of: "of which perAccount allows one at a time", deaths: 0, perAccount: 1 },
    { of: "over which the process died twice", deaths: 2, perAccount: undefined },
  ])("keeps its lane, and no other from running $of", async ({ deaths, perAccount }) => {
    const { send, pass, seen } = await openRig(deaths, perAccount);
    await send(emails("bad"));
    for (const id of ["a", "b", "c"]) {
      await send(emails(id));
      await pass(1_000);
    }
    expect(seen).toEqual(["bad", "a", "b", "c"]);
  });
});

test("a settle that hangs stops what is to be settled later for 5 s, and no longer", async () => {
  const clock = fakeClock();
  const own = memoryInbox() as WorkingInbox<"memory">;
  const settle: WorkingInbox["settle"] = (given) =>
    given.some(({ claim }) => isBad(claim)) ? new Promise(() => {}) : own.settle(given);
  const { receiver, send, pass } = rig({ inbox: stubInbox(() => ({ ...own, settle })), clock, gaps: false });
  const seen: string[] = [];
  receiver.on("email", (event) => void seen.push(idOf(event)), { merge: false });
  await receiver.start();
  await send(emails("bad"));
  await pass(100);
  await send(emails("a"));
  await send(emails("a"));
  await pass(4_500);
  expect(seen).toEqual(["bad", "a"]);
  await pass(500);
  expect(seen).toEqual(["bad", "a", "a"]);
});
