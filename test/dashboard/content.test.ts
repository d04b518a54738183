import { sample } from "hookline/testing";
import { expect, test } from "vitest";
import { asking, PATHS, SAME_ORIGIN, troubled } from "./support.ts";

/** Each text of content gets one of its own: an address, an id, an error, a reason. */
function planter() {
  const secrets: string[] = [];
  return {
    secrets,
    mark(text: string): string {
      const secret = `secret${secrets.length}x`;
      secrets.push(secret);
      return text.includes("@") ? `${secret}@example.com` : `${text} ${secret}`;
    },
  };
}

test("without the right to content none of 40 secrets is in any answer; with it they are", async () => {
  const { secrets, mark } = planter();
  const receiver = await troubled({ mark, dead: 20 });
  expect(secrets.length).toBeGreaterThanOrEqual(40);
  const ids = (await receiver.jobs.list({ limit: 1_000 })).jobs.map(({ id }) => `/api/job?id=${id}`);
  const seen = async (content: boolean) => {
    const { get, change } = asking(receiver, () => ({ content, change: true }));
    const texts: string[] = [];
    for (const path of [...PATHS, ...ids]) {
      const { text, headers } = await get(path);
      texts.push(text, JSON.stringify([...headers]));
      // A body is in base64.
      for (const [base64] of text.matchAll(/(?<="bodyBase64":")[^"]+/g))
        texts.push(Buffer.from(base64, "base64").toString());
    }
    for (const verb of ["replay", "drop", "lift", "clear-gaps"])
      texts.push(JSON.stringify(await change(verb, { filter: { subscription: "1777" } }, SAME_ORIGIN)));
    return secrets.filter((secret) => texts.some((text) => text.includes(secret)));
  };
  expect(await seen(false)).toEqual([]);
  const shown = await seen(true);
  expect(shown.length).toBeGreaterThan(35);
});

test("the name of an error is shown where it is that of a class, and no other text", async () => {
  const receiver = await troubled();
  const named = (name: string) => ({ name, message: "m", at: new Date() });
  const job = {
    id: "1",
    state: "dead",
    event: sample("email.created"),
    receivedAt: new Date(),
    deliveryId: "1",
  } as const;
  const names = ["TypeError", "ada@example.com", "Secret of Ada", "$"];
  receiver.jobs.list = async () => ({ jobs: names.map((name) => ({ ...job, lastError: named(name) })) });
  const shown = async (content: boolean) => {
    const { jobs } = await asking(receiver, () => ({ content })).read("dead?type=email.created");
    return (jobs as { error: { name: string } }[]).map(({ error }) => error.name);
  };
  expect(await shown(false)).toEqual(["TypeError", "(hidden)", "(hidden)", "(hidden)"]);
  expect(await shown(true)).toEqual(names);
});

test("an error of the inbox is answered by its code alone", async () => {
  const receiver = await troubled();
  receiver.lists.blockedLanes = () =>
    Promise.reject(Object.assign(new Error("of ada@example.com"), { code: "storage-failed" }));
  receiver.jobs.get = () => Promise.reject(new Error("of ada@example.com"));
  receiver.lists.workers = () => Promise.reject(new Error("of ada@example.com"));
  const { get } = asking(receiver, () => ({ content: true }));
  const lanes = await get("/api/lanes");
  expect(lanes.status).toBe(503);
  expect(JSON.parse(lanes.text)).toMatchObject({ code: "storage-failed" });
  expect(await get("/api/job?id=2")).toMatchObject({ status: 503, text: expect.not.stringContaining("ada") as string });
  expect(await get("/api/now")).toMatchObject({ status: 200 });
});

test("every answer has a policy, is not stored, and may be in no frame", async () => {
  const { get } = asking(await troubled(), () => ({}));
  for (const path of PATHS) {
    const { headers } = await get(path);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-security-policy": expect.stringMatching(/^default-src 'none'; .*frame-ancestors 'none'/) as string,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
  }
  expect(await get("/api/now", "DELETE")).toMatchObject({ status: 405 });
  expect((await get("")).headers.get("location")).toBe("hooks/");
});

test("a job has its attempts, its error and its delivery; a body that is long is cut", async () => {
  const receiver = await troubled({ dead: 500 });
  const { read } = asking(receiver, () => ({ content: true }));
  const { job } = await read("job?id=2");
  expect(job).toMatchObject({ state: "dead", attempts: 1, error: { name: "TypeError" }, delivery: { isCut: false } });
  expect(JSON.parse(Buffer.from(job.delivery.bodyBase64, "base64").toString())).toMatchObject({ accountId: 2002 });
  const { jobs } = await read("dead?subscription=1001&type=email.created&accountId=2002");
  const { job: long } = await read(`job?id=${jobs[0].id}`);
  expect(long.delivery).toMatchObject({ isCut: true });
  expect(JSON.stringify(long).length).toBeLessThan(30_000);
});

test("a problem's section of the runbook is given by its code", async () => {
  const { read } = asking(await troubled(), () => ({}));
  expect((await read("runbook?code=dead-letters")).text).toMatch(/^- \*\*Metric:\*\*/);
  expect((await read("runbook?code=../../x")).text).toMatch(/docs\/operate\/runbook\.md/);
});
