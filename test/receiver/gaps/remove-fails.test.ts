import { expect, test } from "vitest";
import { lifecycleBody } from "../../support/make-delivery.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { gapsIn, MINUTE_MS, working } from "./support.ts";

async function withoutRemoval() {
  let isBad = true;
  const inbox = stubInbox(({ gaps }) => ({
    ...(gaps && {
      gaps: { ...gaps, remove: (given) => (isBad ? Promise.reject(new Error("EIO")) : gaps.remove(given)) },
    }),
  }));
  const own = await working({ inbox });
  return { ...own, mend: () => void (isBad = false) };
}

test("a gap that the inbox does not remove is signalled once, and its removal is tried again", async () => {
  const { send, pass, calls, inbox, mend } = await withoutRemoval();
  await send(lifecycleBody("active"));
  for (let minute = 0; minute < 10; minute += 1) await pass(MINUTE_MS);
  expect(calls).toHaveLength(1);
  mend();
  await pass(MINUTE_MS);
  expect(await gapsIn(inbox)).toEqual([]);
  expect(calls).toHaveLength(1);
  await send(lifecycleBody("active"));
  await pass(MINUTE_MS);
  expect(calls).toHaveLength(2);
});

test("a gap that reaches further than the one that was signalled is signalled too", async () => {
  const { send, pass, calls } = await withoutRemoval();
  await send(lifecycleBody("active"));
  await pass(MINUTE_MS);
  await send(lifecycleBody("active"));
  for (let minute = 0; minute < 10; minute += 1) await pass(MINUTE_MS);
  expect(calls).toHaveLength(2);
});
