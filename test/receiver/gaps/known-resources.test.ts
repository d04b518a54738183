import { expect, test } from "vitest";
import { createKnownResources } from "../../../src/gaps/known-resources.ts";
import { mail } from "./support.ts";

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
