import assert from "node:assert/strict";
import { claimAll, keepAll, mail, raw, told, findAll, type InboxCases } from "./bench.ts";

const open = { key: "tracking:1:7", content: "open" };

export const deduplicating: InboxCases = {
  "an event that was seen within the window makes no job, and is told": async ({ inbox }) => {
    const [first] = await keepAll(inbox, told(open));
    const [second] = await keepAll(inbox, told(open));
    assert.deepEqual([first?.duplicates, second?.duplicates], [[], [0]]);
    assert.equal(second?.expanded, true);
    assert.equal((await findAll(inbox)).length, 1);
  },

  "twice in one delivery is seen too": async ({ inbox }) => {
    const [kept] = await keepAll(inbox, told(open, { ...open, key: "tracking:1:8" }, open));
    assert.deepEqual(kept?.duplicates, [2]);
    assert.equal((await claimAll(inbox)).length, 2);
  },

  "the same key with other content makes a job, and is told as a conflict": async ({ inbox }) => {
    await keepAll(inbox, told(open));
    const [kept] = await keepAll(inbox, told({ ...open, content: "other" }));
    assert.deepEqual([kept?.duplicates, kept?.conflicts], [[], [0]]);
    assert.equal((await findAll(inbox)).length, 2);
  },

  "after a conflict each of the contents is known": async ({ inbox }) => {
    await keepAll(inbox, told(open), told({ ...open, content: "other" }));
    const kept = await keepAll(inbox, told(open), told({ ...open, content: "other" }));
    assert.deepEqual(
      kept.map(({ duplicates }) => duplicates),
      [[0], [0]],
    );
  },

  "those kept before are deduplicated when they are expanded": async ({ inbox }) => {
    const deliveries = [told(open), told(open), told({ ...open, content: "other" })];
    const kept = await keepAll(inbox, ...deliveries.map(raw));
    const seen = await inbox.expand(
      kept.map(({ id }, index) => ({ id, events: deliveries[index]?.events ?? [], cursor: undefined })),
    );
    assert.deepEqual(seen, [
      { duplicates: [], conflicts: [] },
      { duplicates: [0], conflicts: [] },
      { duplicates: [], conflicts: [0] },
    ]);
    assert.equal((await findAll(inbox)).length, 2);
  },

  "the window begins with the first one, and ends": async ({ inbox, clock, host }) => {
    await keepAll(inbox, told(open));
    await clock.advance(host.dedupeWindowMs - 1);
    assert.deepEqual((await keepAll(inbox, told(open)))[0]?.duplicates, [0]);
    await clock.advance(1);
    assert.deepEqual((await keepAll(inbox, told(open)))[0]?.duplicates, []);
  },

  "an event without a key is never a duplicate: two equal changes may be two edits": async ({ inbox }) => {
    const kept = await keepAll(inbox, mail(["a"]), mail(["a"]));
    assert.deepEqual(
      kept.map(({ duplicates }) => duplicates),
      [[], []],
    );
    assert.equal((await findAll(inbox)).length, 2);
  },

  "a duplicate does not hold up the rest of its delivery": async ({ inbox }) => {
    await keepAll(inbox, told(open));
    const [kept] = await keepAll(inbox, told(open, { key: "tracking:1:9", content: "open" }));
    assert.deepEqual(kept?.duplicates, [0]);
    assert.equal((await findAll(inbox)).length, 2);
  },
};
