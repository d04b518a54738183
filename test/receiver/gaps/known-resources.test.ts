import { expect, test } from "vitest";
import { createKnownResources } from "../../../src/gaps/known-resources.ts";
import { bodyOf, lifecycleBody } from "../../support/make-delivery.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { mail, MINUTE_MS, working } from "./support.ts";

test("a resource that is known is one for each source, until its subscription of that source is forgotten", () => {
  const known = createKnownResources();
  const sources = [undefined, "crm", "shop"];
  const all = () => sources.map((source) => known.find(mail, source));
  const first = all();
  expect(new Set(first).size).toBe(3);
  expect(all().every((one, at) => one === first[at])).toBe(true);
  expect(first.map(({ resource }) => resource.source)).toEqual(sources);

  known.forget(mail.subscription + 1, undefined);
  known.forget(mail.subscription, "crm");
  expect(all().map((one, at) => one === first[at])).toEqual([true, false, true]);

  const second = all();
  known.forget(mail.subscription, undefined);
  expect(all().map((one, at) => one === second[at])).toEqual([false, false, false]);
});

test("the resources of an account that was erased are forgotten, and of the same subscription no others", () => {
  const known = createKnownResources();
  const accounts = [mail.accountId, 3003];
  const all = () => accounts.map((accountId) => known.find({ ...mail, accountId }, undefined));
  const first = all();
  known.forgetAccount(4004);
  known.forgetAccount(3003);
  expect(all().map((one, at) => one === first[at])).toEqual([true, false]);
});

test("beyond 100,000 known resources the first one is forgotten, and is known anew", () => {
  const known = createKnownResources();
  const find = (subscription: number) => known.find({ ...mail, subscription }, undefined);
  const kept = [0, 1, 2, 3].map(find);
  for (let at = 4; at <= 100_000; at += 1) find(at);
  expect(find(1)).toBe(kept[1]);
  expect(find(0)).not.toBe(kept[0]);
  known.forget(2, undefined);
  find(100_001);
  expect(find(3)).toBe(kept[3]);
});

test("of a delivery with a resource that no subscription has, for its length, nothing is remembered", async () => {
  const seen: string[] = [];
  const added: string[] = [];
  let isBroken = false;
  const inbox = stubInbox(({ store, gaps }) => ({
    store: (all) => (isBroken ? Promise.reject(new Error("EIO")) : store(all)),
    ...(gaps && {
      gaps: {
        ...gaps,
        seen: async (all, at) => (seen.push(...all.map(({ resource }) => resource)), gaps.seen(all, at)),
        add: async (all) => (added.push(...all.map(({ resource }) => resource)), gaps.add(all)),
      },
    }),
  }));
  const { offer, send, pass } = await working({ inbox });
  const long = (length: number): string => "/email/messages?".padEnd(length, "x");
  await send(bodyOf({ resource: long(2_001) }));
  await send(lifecycleBody("active", { resource: long(2_001) }));
  await send(bodyOf({ resource: long(2_000), subscription: 5 }));
  isBroken = true;
  await offer(bodyOf({ resource: long(2_002) }));
  await pass(11 * MINUTE_MS);
  isBroken = false;
  await send(bodyOf({ resource: long(2_002) }));
  await pass(MINUTE_MS);
  expect([...new Set([...seen, ...added])]).toEqual([long(2_000)]);
});
