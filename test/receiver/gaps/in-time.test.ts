import { expect, test } from "vitest";
import { lifecycleBody } from "../../support/make-delivery.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { gapsIn, MINUTE_MS, working } from "./support.ts";

/** An inbox of which a verb for gaps hangs while a test says so. */
function hanging(verb: "mark" | "find" | "count" | "add" | "seen" | "remove") {
  let hangs = false;
  let calls = 0;
  const inbox = stubInbox((own) => {
    if (own.gaps === undefined) return {};
    const call = own.gaps[verb] as (...given: unknown[]) => Promise<unknown>;
    const replaced = (...given: unknown[]) => ((calls += 1), hangs ? new Promise(() => {}) : call(...given));
    return { gaps: { ...own.gaps, [verb]: replaced } };
  });
  return { inbox, calls: () => calls, hang: (now: boolean) => void (hangs = now) };
}

test.each(["mark", "find", "count", "add", "seen", "remove"] as const)(
  "a call of `gaps.%s` that hangs fails, and what may be missing is fetched by the next look",
  async (verb) => {
    const { inbox, hang } = hanging(verb);
    const own = await working({ inbox });
    hang(true);
    void own.offer(lifecycleBody("error", { error: "invalid_grant" }));
    await own.pass(3_000);
    void own.offer(lifecycleBody("active"));
    await own.pass(5 * MINUTE_MS);
    expect(own.log.of("gaps-failed")).toContainEqual(
      expect.objectContaining({
        facts: expect.objectContaining({ err: expect.objectContaining({ code: "inbox-hung" }) }),
      }),
    );
    hang(false);
    await own.pass(5 * MINUTE_MS);
    expect(own.calls.map(({ accountId }) => accountId)).toContain(2002);
    expect(await gapsIn(own.inbox)).toEqual([]);
  },
);

test("marks go on after one that hung", async () => {
  const { inbox, calls, hang } = hanging("mark");
  const own = await working({ inbox });
  hang(true);
  await own.pass(5 * MINUTE_MS);
  hang(false);
  const before = calls();
  await own.pass(5 * MINUTE_MS);
  expect(calls() - before).toBeGreaterThanOrEqual(4);
});
