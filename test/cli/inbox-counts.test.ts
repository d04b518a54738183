import { describe, expect, test } from "vitest";
import { bodyOf, change } from "../support/make-delivery.ts";
import { onDisk } from "../adapters/inbox/on-disk.ts";
import { mail, one } from "../suites/inbox/deliveries.ts";
import { claimAll, retry, settleAll, storeAll } from "../suites/inbox/verbs.ts";
import { fileWith, inbox, jsonOf } from "./inbox-file.ts";

const bad = bodyOf({ payloads: [change("bad-1"), change("bad-2", "created"), change("bad-3"), change("m-1")] });

describe("hookline inbox list --summary", () => {
  test("counts jobs by consumer, type and error", async () => {
    const file = await fileWith([bad]);
    const { code, out, err } = await inbox(file, "list --summary --state dead");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatchInlineSnapshot(`
      "JOBS  CONSUMER  TYPE           NEWEST (UTC)      LAST ERROR
      2     default   email.updated  2026-05-06 07:08  TypeError
      1     default   email.created  2026-05-06 07:08  TypeError
      "
    `);
    expect(jsonOf((await inbox(file, "list --summary --state dead --json")).out)).toMatchObject([
      { consumer: "default", type: "email.updated", error: "TypeError", count: 2 },
      { type: "email.created", count: 1 },
    ]);
    expect((await inbox(file, "list --summary --error RangeError")).err).toBe("There are no such jobs.\n");
  });

  test("the name of an error selects jobs, also of those that are dropped", async () => {
    const file = await fileWith([bad]);
    expect(jsonOf((await inbox(file, "list --error TypeError --json")).out)).toHaveLength(3);
    expect((await inbox(file, "drop --dead --error RangeError --dry-run")).out).toContain("Would drop 0 jobs");
    expect((await inbox(file, "drop --dead --error TypeError --dry-run")).out).toContain("Would drop 3 jobs");
  });
});

test("hookline inbox lanes: what waits for a next attempt, and how many behind it", async () => {
  const opened = await onDisk();
  expect((await inbox(opened.file, "lanes")).err).toBe("No lane is blocked.\n");
  await storeAll(opened.inbox, mail([one("a"), one("b"), one("c"), "done"]));
  const [claim] = await claimAll(opened.inbox);
  if (claim !== undefined) await settleAll(opened.inbox, claim, retry(opened, 1e12));
  const { code, out } = await inbox(opened.file, "lanes");
  expect(code).toBe(0);
  expect(out).toMatch(/^NEXT ATTEMPT \(UTC\) +BEHIND +JOB +TYPE/);
  expect(out).toMatch(/ 2 +2 +email\.updated +2002 +default +1 +Error: no\n$/);
  const [lane] = jsonOf((await inbox(opened.file, "lanes --json")).out);
  expect(lane).toMatchObject({ behind: 2, job: { state: "waiting", attempts: 1 } });
  expect(JSON.stringify(lane)).not.toContain('"one"');
  expect(JSON.stringify(jsonOf((await inbox(opened.file, "lanes --json --show-content")).out))).toContain('"one"');
});
