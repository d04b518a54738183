import type { Inbox } from "hookline";
import { expect, vi } from "vitest";
import { asking, troubled } from "./support.ts";

/** What a dashboard shows and changes, over any inbox: the same for all of them. */
export async function checkDashboard(inbox: Inbox): Promise<void> {
  const receiver = await troubled({ inbox, dead: 30 });
  const { read, change } = asking(receiver, () => ({ change: true, content: true, who: "ada" }));
  expect(await read("now")).toMatchObject({ role: "working", dead: 36, unhandled: 2, succeeded: 1 });
  expect((await read("now")).problems.map(({ code }: { readonly code: string }) => code)).toContain("dead-letters");
  // While its head is tried once more, a lane is not blocked.
  await vi.waitUntil(async () => (await read("lanes")).lanes.length === 3, { timeout: 20_000 });
  expect(await read("dead")).toMatchObject({
    count: 36,
    isCut: false,
    groups: expect.arrayContaining([
      expect.objectContaining({ consumer: "crm", type: "email.created", error: "TypeError", count: 33 }),
      expect.objectContaining({ consumer: "crm", type: "booking", error: "GiveUp", count: 3 }),
    ]) as unknown,
  });
  const { jobs } = await read("dead?type=booking&error=GiveUp");
  expect(jobs).toHaveLength(3);
  expect((await read(`job?id=${jobs[0].id}`)).job).toMatchObject({ state: "dead", error: { message: "no such page" } });
  expect(await read("subscriptions")).toMatchObject({
    tombstones: [{ subscription: 1777 }],
    errored: [{ subscription: 1003 }],
  });
  expect((await read("gaps")).gaps).toHaveLength(2);

  const filter = { type: "email.created", error: "TypeError" };
  expect(await change("drop", { filter, count: 33 })).toMatchObject({ status: 200, body: { change: { changed: 33 } } });
  expect(await change("replay", { filter: {}, count: 3 })).toMatchObject({ body: { change: { changed: 3 } } });
  await vi.waitUntil(async () => (await read("dead")).count === 3, { timeout: 20_000 });
  expect(await change("lift", { filter: { subscription: "1777" }, count: 1 })).toMatchObject({ status: 200 });
  expect(await change("clear-gaps", { filter: { family: "calendarEvent" }, count: 2 })).toMatchObject({ status: 200 });
  expect(await read("subscriptions")).toMatchObject({ tombstones: [] });
  expect(await read("gaps")).toMatchObject({ gaps: [] });
}
