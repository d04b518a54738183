import { expect, test } from "vitest";
import { codesOf, problemsOf } from "../../support/health.ts";
import { lifecycleBody } from "../../support/make-delivery.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { MINUTE_MS, working } from "./support.ts";

/** An inbox that refuses signals of account 2002, removals of 3003, or to list gaps. */
async function failing() {
  const bad = new Set<string>();
  const isSignal = ({ signedBy, body }: { signedBy: string; body: Uint8Array }): boolean =>
    signedBy === "hookline" && Buffer.from(body).includes("2002");
  const inbox = stubInbox(({ store, gaps }) => ({
    store: (all) =>
      bad.has("signal") && all.some(({ delivery }) => isSignal(delivery))
        ? Promise.reject(new Error("EIO"))
        : store(all),
    ...(gaps && {
      gaps: {
        ...gaps,
        remove: (given) =>
          bad.has("remove") && given.some(({ accountId }) => accountId === 3003)
            ? Promise.reject(new Error("EIO"))
            : gaps.remove(given),
        find: (given) => (bad.has("find") ? Promise.reject(new Error("EIO")) : gaps.find(given)),
      },
    }),
  }));
  const own = await working({ inbox });
  return {
    ...own,
    bad,
    minutes: async (count: number) => {
      for (let minute = 0; minute < count; minute += 1) await own.pass(MINUTE_MS);
    },
  };
}

test.each(["signal", "remove"])(
  "a gap whose %s fails for more than five minutes is a problem until it is ended",
  async (what) => {
    const { send, bad, minutes, receiver } = await failing();
    bad.add(what);
    for (const accountId of [2002, 3003, 4004]) await send(lifecycleBody("active", { accountId }));
    await minutes(4);
    expect(await codesOf(receiver)).not.toContain("gap-failing");
    await minutes(3);
    expect(await problemsOf(receiver, "gap-failing")).toMatchObject([
      { message: expect.stringContaining("1 resource.") },
    ]);
    bad.clear();
    await minutes(2);
    expect(await codesOf(receiver)).not.toContain("gap-failing");
  },
);

test("nor is one that was cleared by hand, and one that fails later is given its five minutes again", async () => {
  const { send, bad, minutes, receiver, inbox } = await failing();
  bad.add("signal");
  await send(lifecycleBody("active"));
  await minutes(7);
  expect(await codesOf(receiver)).toContain("gap-failing");
  const { gaps } = (await inbox.gaps?.find({ limit: 9 })) ?? { gaps: [] };
  await inbox.gaps?.remove(gaps);
  await minutes(2);
  expect(await codesOf(receiver)).not.toContain("gap-failing");
  await send(lifecycleBody("active"));
  await minutes(4);
  expect(await codesOf(receiver)).not.toContain("gap-failing");
});

test("gaps that cannot be read for more than five minutes are a problem until they can", async () => {
  const { bad, minutes, receiver } = await failing();
  bad.add("find");
  await minutes(4);
  expect(await codesOf(receiver)).not.toContain("gap-failing");
  await minutes(3);
  expect(await problemsOf(receiver, "gap-failing")).toMatchObject([
    { message: expect.stringContaining("cannot read them") },
  ]);
  bad.clear();
  await minutes(2);
  expect(await codesOf(receiver)).not.toContain("gap-failing");
});
