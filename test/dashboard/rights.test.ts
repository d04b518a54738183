import { createReceiver, forwardInbox, type Receiver } from "hookline";
import { expressDashboard, fetchDashboard, koaDashboard, nodeDashboard, type Access } from "hookline/dashboard";
import { describe, expect, test, vi } from "vitest";
import { logRecorder } from "../support/log-recorder.ts";
import { asking, PATHS, SAME_ORIGIN, troubled } from "./support.ts";

const MAY: Access = { change: true, content: true };
const MOUNTS = { expressDashboard, fetchDashboard, koaDashboard, nodeDashboard };

describe("a dashboard is not mounted", () => {
  test.each(Object.entries(MOUNTS))(
    "by %s without access, or over an inbox that only forwards",
    async (name, mount) => {
      const receiver = await troubled();
      const forwards = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
      const access = () => undefined;
      for (const options of [undefined, {}, { access: undefined }, { access: true }])
        expect(() => mount(receiver, options as never)).toThrow(
          expect.objectContaining({
            code: "dashboard-access-missing",
            message: expect.stringContaining(name) as string,
          }),
        );
      expect(() => mount(forwards, { access })).toThrow(expect.objectContaining({ code: "inbox-cannot-work" }));
      for (const options of [{ refreshMs: 999 }, { path: "hooks" }, { path: "/:id(.*)" }, { pth: "/" }])
        expect(() => mount(receiver, { access, ...options })).toThrow(
          expect.objectContaining({ code: "option-invalid" }),
        );
    },
  );

  test("on a function platform, where a replay would not go on", async () => {
    const receiver = await troubled();
    vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "hooks");
    try {
      expect(() => nodeDashboard(receiver, { access: () => ({}) })).toThrow(
        expect.objectContaining({
          code: "inbox-cannot-work",
          message: expect.stringContaining("AWS Lambda") as string,
        }),
      );
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

test.each<[string, () => Access | undefined | Promise<Access | undefined>]>([
  ["undefined", () => undefined],
  ["a promise of undefined", async () => undefined],
  ["an error", () => fail("no session")],
  ["a rejection", async () => fail("no session")],
  ["something else, such as true", () => true as unknown as Access],
])("access that gives %s is 403 for every request, files too", async (_, access) => {
  const receiver = await troubled();
  const before = await stateOf(receiver);
  const { get, change } = asking(receiver, access);
  for (const path of PATHS) {
    const { status, text } = await get(path);
    expect({ path, status }).toEqual({ path, status: 403 });
    expect(JSON.parse(text)).toMatchObject({ code: "dashboard-refused" });
  }
  for (const [verb, body] of Object.entries(CHANGES))
    expect(await change(verb, { ...body, count: 1_000 })).toMatchObject({ status: 403 });
  expect(await stateOf(receiver)).toEqual(before);
});

/** Each would change something. */
const CHANGES = {
  replay: { filter: {} },
  drop: { ids: ["2", "8"] },
  pause: { filter: { consumer: "crm", reason: "down" } },
  lift: { filter: { subscription: "1777" } },
  "clear-gaps": { filter: { family: "calendarEvent" } },
};

describe.each(Object.entries(CHANGES))("%s", (verb, body) => {
  const refused: [string, Access, object | string, Record<string, string>, number, string][] = [
    ["one who only reads", {}, { ...body, count: 1_000 }, SAME_ORIGIN, 403, "dashboard-read-only"],
    ["a page of another site", MAY, { ...body, count: 1_000 }, from("cross-site"), 403, "dashboard-cross-site"],
    ["another origin of the same site", MAY, { ...body, count: 1_000 }, from("same-site"), 403, "dashboard-cross-site"],
    [
      "another origin of an old browser",
      MAY,
      { ...body, count: 1_000 },
      origin("http://evil"),
      403,
      "dashboard-cross-site",
    ],
    ["a page without an origin", MAY, { ...body, count: 1_000 }, origin("null"), 403, "dashboard-cross-site"],
    ["a form", MAY, { ...body, count: 1_000 }, { ...SAME_ORIGIN, "X-Hookline": "" }, 403, "dashboard-cross-site"],
    [
      "another type",
      MAY,
      { ...body, count: 1_000 },
      { ...SAME_ORIGIN, "Content-Type": "text/plain" },
      400,
      "dashboard-change-invalid",
    ],
    ["no JSON", MAY, "{", SAME_ORIGIN, 400, "dashboard-change-invalid"],
    ["a field that nobody knows", MAY, { ...body, count: 1_000, al: 1 }, SAME_ORIGIN, 400, "dashboard-change-invalid"],
    ["neither ids nor a filter", MAY, { count: 1_000 }, SAME_ORIGIN, 400, "dashboard-change-invalid"],
    ["a count that grew", MAY, { ...body, count: 0 }, SAME_ORIGIN, 409, "dashboard-count-grown"],
  ];

  test.each(refused)("is refused for %s, and changes nothing", async (_, access, asked, headers, status, code) => {
    const receiver = await troubled();
    const before = await stateOf(receiver);
    expect(await asking(receiver, () => access).change(verb, asked, headers)).toMatchObject({ status, body: { code } });
    expect(await stateOf(receiver)).toEqual(before);
  });

  test("only counts at first, then does what was counted, and is logged with who did it", async () => {
    const { logger, of } = logRecorder();
    const receiver = await troubled({ log: logger });
    const before = await stateOf(receiver);
    const { change } = asking(receiver, () => ({ change: true, who: "ada" }));
    const { status, body: counted } = await change(verb, body);
    expect(status).toBe(200);
    expect(counted.count).toBeGreaterThan(0);
    expect(await stateOf(receiver)).toEqual(before);
    expect(of("dashboard-change")).toEqual([]);
    const { count } = counted as { count: number };
    expect(await change(verb, { ...body, count, perSecond: 1_000 })).toMatchObject({
      status: 200,
      body: { change: { verb, count, changed: count } },
    });
    expect(await stateOf(receiver)).not.toEqual(before);
    expect(of("dashboard-change")).toMatchObject([{ level: "info", facts: { who: "ada", verb, count, ...body } }]);
    expect(of("dashboard-changed")).toMatchObject([{ facts: { who: "ada", changed: count } }]);
  });

  test("is taken from a browser that says its origin alone", async () => {
    const receiver = await troubled();
    const { change } = asking(receiver, () => ({ change: true }));
    expect(await change(verb, body, origin("http://localhost"))).toMatchObject({ status: 200 });
  });
});

test("a count that grew by a tenth is done, by more is refused", async () => {
  const receiver = await troubled({ dead: 22 });
  const { change } = asking(receiver, () => ({ change: true }));
  const filter = { type: "email.created" };
  expect(await change("drop", { filter, count: 22 })).toMatchObject({ status: 409, body: { count: 25 } });
  expect(await change("drop", { filter, count: 23 })).toMatchObject({ status: 200, body: { change: { changed: 25 } } });
});

test("a long replay is answered at once, goes on at its rate, and shows how far it is", async () => {
  const receiver = await troubled({ dead: 40 });
  const { change, read } = asking(receiver, () => ({ change: true }));
  const filter = { type: "email.created" };
  const answer = await change("replay", { filter, count: 43, perSecond: 15 });
  expect(answer).toMatchObject({ status: 202, body: { change: { verb: "replay", count: 43, perSecond: 15 } } });
  expect(answer.body.change).not.toHaveProperty("endedAt");
  expect((await read("now")).changes).toMatchObject([{ verb: "replay", count: 43 }]);
  await vi.waitUntil(async () => (await read("now")).changes[0].changed === 43, { timeout: 20_000 });
});

test("a replay that a closing receiver ends says so", async () => {
  const { logger, of } = logRecorder();
  const receiver = await troubled({ dead: 40, log: logger });
  const { change } = asking(receiver, () => ({ change: true, who: "ada" }));
  expect(await change("replay", { filter: {}, count: 50, perSecond: 1 })).toMatchObject({ status: 202 });
  await receiver.close({ drainMs: 0 });
  await vi.waitUntil(() => of("dashboard-change-failed").length > 0);
  expect(of("dashboard-change-failed")).toMatchObject([{ facts: { who: "ada", verb: "replay" } }]);
});

test("each request is logged with who asked, and what they may; who opens a page, without debug too", async () => {
  const { logger, lines, of } = logRecorder();
  const receiver = await troubled({ log: logger });
  const { get, change } = asking(receiver, () => ({ who: "ada", content: true }));
  const first = lines.length;
  for (const path of PATHS) await get(path);
  await change("drop", { filter: {} });
  const asked = lines.slice(first).filter(({ facts }) => /^dashboard-(?:opened|asked)$/.test(String(facts["code"])));
  expect(asked).toHaveLength(PATHS.length + 1);
  for (const { facts } of asked) expect(facts).toMatchObject({ who: "ada", content: true, change: false });
  expect(of("dashboard-opened").every(({ level }) => level === "info")).toBe(true);
  expect(of("dashboard-opened").length).toBeGreaterThan(6);
});

function from(site: string): Record<string, string> {
  return { ...SAME_ORIGIN, "Sec-Fetch-Site": site };
}

function origin(url: string): Record<string, string> {
  const { "Sec-Fetch-Site": _, ...headers } = SAME_ORIGIN;
  return { ...headers, Origin: url };
}

async function stateOf({ flow, jobs, lists }: Receiver) {
  const { jobs: dead } = await jobs.list({ state: "dead" });
  const [tombstones, gaps, paused] = [await lists.tombstones(), await lists.gaps(), await flow.paused()];
  return { dead: dead.map(({ id }) => id), tombstones, gaps, paused };
}

function fail(message: string): never {
  throw new Error(message);
}

test.each(["", " ", "0x10", "1e3", "2002.0", "٢"])(
  "an account %j is refused in each change: it may be none, and is not another one",
  async (accountId) => {
    const receiver = await troubled();
    const before = await stateOf(receiver);
    const { change } = asking(receiver, () => MAY);
    for (const verb of ["replay", "drop", "pause", "resume"]) {
      const asked = { filter: { accountId, ...(verb === "pause" && { reason: "down" }) }, count: 1_000 };
      expect(await change(verb, asked)).toMatchObject({ status: 400, body: { code: "jobs-invalid" } });
    }
    expect(await stateOf(receiver)).toEqual(before);
  },
);
