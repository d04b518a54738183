import { describe, expect, test } from "vitest";
import { handsBugs } from "../support/broken-inboxes/admin-bugs.ts";
import { brokenSubject } from "../support/broken-inboxes/broken-subject.ts";
import { runningBugs } from "../support/broken-inboxes/claiming-bugs.ts";
import { keepingBugs } from "../support/broken-inboxes/storing-bugs.ts";
import { checkInboxModel } from "./inbox-model/check-inbox-model.ts";
import { checkInbox } from "./inbox/check-inbox.ts";

const bugs = [...keepingBugs, ...runningBugs, ...handsBugs];

/** Found within a few walks, every time the same. */
const OPTIONS = { runs: 300, seed: 7, shrink: false };

describe("the inbox suite catches one that", () => {
  test.each(bugs)("$it, by the case '$caught'", async ({ wrong, die, caught }) => {
    const found = checkInbox(brokenSubject(wrong, die)).find(({ name }) => name === caught);
    const member = caught.slice(0, caught.indexOf(":"));
    await expect(found?.run()).rejects.toThrow(`The port promises of ${member}: "`);
  });
});

describe("the inbox model catches one that", () => {
  const seen = bugs.filter(({ notByModel }) => notByModel === undefined);
  test.each(seen)("$it", async ({ wrong, die }) => {
    await expect(checkInboxModel(brokenSubject(wrong, die), OPTIONS)).rejects.toThrow(/Repeat it: /);
  });
});
