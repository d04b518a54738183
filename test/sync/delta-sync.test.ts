import { expect, onTestFinished, test } from "vitest";
import { createEmulator, type EmulatorOptions } from "hookline/emulator";
import { DAY_MS } from "../emulator/support.ts";
import { createWorld, TOKEN_LIFE_MS, type Incident, type Point, type World, type WorldOptions } from "./world.ts";

/** A mailbox with five messages, two on a page. */
async function startWorld(options: Partial<WorldOptions> = {}, emulated: EmulatorOptions = {}) {
  const emulator = await createEmulator({
    clock: "virtual",
    pageSize: 2,
    deltaSync: { tokenLifeMs: TOKEN_LIFE_MS },
    ...emulated,
  });
  onTestFinished(() => emulator.close());
  const world = await createWorld(emulator, { family: "email", hasKnown: true, ...options });
  onTestFinished(() => world.crash());
  for (let nth = 0; nth < 5; nth += 1) await world.change({ change: "add", nth });
  return { emulator, world };
}

/** An incident at the nth point of a kind, from 1. */
function atNth(nth: number, incident: Incident, isIt: (point: Point) => boolean): (point: Point) => Incident {
  let count = 0;
  return (point) => (isIt(point) && (count += 1) === nth ? incident : undefined);
}

async function expectInStep(world: World): Promise<void> {
  expect(await world.sync()).toBeUndefined();
  const { copy, mailbox } = world.contents();
  expect(copy).toEqual(mailbox);
  expect(world.wrong).toEqual([]);
}

/** The calls of a sync without what they have in common. */
function callsOf(world: World): readonly string[] {
  return world.calls.splice(0).map((call) => call.replace(/^(\S+) .*\/sync\/?/, "$1 "));
}

test("a first sync starts, lists all pages, and looks for deletions; the next one goes on from its tokens", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  expect(callsOf(world)).toEqual([
    "POST ",
    "GET updated?deltaToken",
    "GET updated?pageToken",
    "GET updated?pageToken",
    "GET deleted?deltaToken",
  ]);
  await world.change({ change: "remove", nth: 1 });
  await expectInStep(world);
  expect(callsOf(world)).toEqual(["GET updated?deltaToken", "GET deleted?deltaToken"]);
});

test.each(["apply", "save", "saved"] as const)(
  "a process that dies at `%s` of the second page is followed by one that goes on there",
  async (at) => {
    const { world } = await startWorld({ hasKnown: false });
    // The first two saves are those of the start.
    const nth = at === "apply" ? 2 : 4;
    await world.sync(atNth(nth, "crash", (point) => point.at === at));
    callsOf(world);
    await expectInStep(world);
    expect(callsOf(world)[0]).toBe("GET updated?pageToken");
  },
);

test("a page token that is refused is dropped once, and the walk goes on from its delta token", async () => {
  const { world } = await startWorld();
  expect(await world.sync(atNth(1, "refuse-page", ({ url }) => url.includes("pageToken")))).toBeUndefined();
  expect(callsOf(world).slice(0, 4)).toEqual([
    "POST ",
    "GET updated?deltaToken",
    "GET updated?pageToken",
    "GET updated?deltaToken",
  ]);
  expect(world.contents().copy).toEqual(world.contents().mailbox);
});

test("page tokens that are refused again and again end the run, after one new start", async () => {
  const { world } = await startWorld();
  const refused = (point: Point): Incident => (point.url.includes("pageToken") ? "refuse-page" : undefined);
  expect(await world.sync(refused)).toMatchObject({ code: "service-bad-request" });
  expect(callsOf(world).filter((call) => call === "POST ")).toHaveLength(1);
  expect(await world.sync(refused)).toMatchObject({ code: "service-bad-request" });
  expect(callsOf(world).filter((call) => call === "POST ")).toHaveLength(1);
  await expectInStep(world);
});

test("deletions that were being walked when the process died are finished before anything newer is applied", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  for (let nth = 0; nth < 4; nth += 1) await world.change({ change: "remove", nth: 0 });
  await world.sync(atNth(2, "crash", ({ at }) => at === "remove"));
  callsOf(world);
  await expectInStep(world);
  expect(callsOf(world)).toEqual(["GET deleted?pageToken", "GET updated?deltaToken", "GET deleted?deltaToken"]);
});

test("a message that changes while a new listing is compared is not taken for a deleted one", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  await world.change({ change: "remove", nth: 0 });
  await world.expire();
  const change: Incident = { change: "update", nth: 3 };
  expect(await world.sync(atNth(1, change, ({ url }) => url.includes("pageToken")))).toBeUndefined();
  expect(world.wrong).toEqual([]);
  await expectInStep(world);
});

test("nor is one that changes after an attempt has failed in the middle of it", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  await world.expire();
  await world.sync((point) => (point.url.includes("pageToken") ? "fail" : undefined));
  const change: Incident = { change: "update", nth: 4 };
  await world.change({ change: "update", nth: 4 });
  expect(await world.sync(atNth(2, change, ({ at }) => at === "request"))).toBeUndefined();
  expect(world.wrong).toEqual([]);
  expect(callsOf(world).filter((call) => call === "POST ")).toHaveLength(2);
});

test("a process that dies while it compares is followed by one that lists all again, and removes nothing too much", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  await world.change({ change: "remove", nth: 0 });
  await world.expire();
  await world.sync(atNth(2, "crash", ({ at }) => at === "apply"));
  callsOf(world);
  await expectInStep(world);
  expect(callsOf(world).slice(0, 2)).toEqual(["POST ", "GET updated?deltaToken"]);
});

test("a process that dies in the middle of the removals is followed by one that removes the rest", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  for (let nth = 0; nth < 3; nth += 1) await world.change({ change: "remove", nth: 0 });
  await world.expire();
  await world.sync(atNth(1, "half", ({ at }) => at === "remove"));
  await world.crash();
  await expectInStep(world);
});

test.each([1, 2])("tokens of two starts are not mixed, where the process dies at save %s of a start", async (nth) => {
  const { world } = await startWorld();
  await expectInStep(world);
  await world.change({ change: "remove", nth: 0 });
  await world.expire();
  await world.change({ change: "remove", nth: 0 });
  await world.sync(atNth(nth, "crash", ({ at }) => at === "saved"));
  await world.change({ change: "remove", nth: 0 });
  await expectInStep(world);
});

test("nor where the service refuses the token of deletions alone", async () => {
  const { world } = await startWorld();
  await expectInStep(world);
  await world.change({ change: "remove", nth: 0 });
  let saves = 0;
  await world.sync(({ at, url }) => {
    if (url.includes("deleted?deltaToken")) return "refuse";
    // The walk of what was updated saves once, then the start saves the token of deletions.
    return at === "saved" && (saves += 1) === 2 ? "crash" : undefined;
  });
  expect(world.tokens.size).toBe(2);
  await expectInStep(world);
});

test("without `known` an expired token is a problem in health(), until a process has it", async () => {
  const { world } = await startWorld({ hasKnown: false });
  await expectInStep(world);
  expect(await world.problems()).toEqual([]);
  await world.change({ change: "remove", nth: 0 });
  await world.expire();
  expect(await world.sync()).toBeUndefined();
  expect(await world.problems()).toEqual(["sync-incomplete"]);

  // It is stored with the tokens.
  await world.crash();
  expect(await world.sync()).toBeUndefined();
  expect(await world.problems()).toEqual(["sync-incomplete"]);

  await world.crash({ hasKnown: true });
  await expectInStep(world);
  expect(await world.problems()).toEqual([]);
});

test("a token that cannot be read is a lost one", async () => {
  const { world } = await startWorld({ hasKnown: false });
  await expectInStep(world);
  for (const key of world.tokens.keys()) if (key.endsWith("deleted")) world.tokens.set(key, "from another program");
  expect(await world.sync()).toBeUndefined();
  expect(await world.problems()).toEqual(["sync-incomplete"]);
});

test("keys name account, resource, chain and consumer", async () => {
  const { world } = await startWorld({ consumer: "search" });
  await expectInStep(world);
  expect([...world.tokens.keys()].map((key) => key.replace(/^\d+/, "ID"))).toEqual([
    "ID /email/messages deleted search",
    "ID /email/messages updated search",
  ]);
});

test("the window of a calendar moves before half of it is used up, and nothing between the two is missed", async () => {
  const window = { daysPast: 1, daysAhead: 40 };
  const { world, emulator } = await startWorld({ family: "calendarEvent", window }, { deltaSync: {} });
  await world.change({ change: "add", nth: 0, days: 50 });
  expect(await world.sync()).toBeUndefined();
  expect(Object.keys(world.contents().copy)).toHaveLength(5);
  await emulator.advance(9 * DAY_MS);
  callsOf(world);
  expect(await world.sync()).toBeUndefined();
  expect(callsOf(world)).not.toContain("POST ");

  await emulator.advance(6 * DAY_MS);
  await world.change({ change: "remove", nth: 0 });
  expect(await world.sync()).toBeUndefined();
  expect(callsOf(world).slice(0, 3)).toEqual(["POST ", "GET updated?deltaToken", "GET deleted?deltaToken"]);
  const { copy, mailbox } = world.contents();
  expect(copy).toEqual(mailbox);
});

test.each(["email", "calendarEvent"] as const)(
  "a sync of %s that began while the clock was ahead begins anew once it is right: its window is one of then",
  async (family) => {
    const { world, emulator } = await startWorld({ family, window: { daysPast: 7 } });
    /** As if the clock had been so far ahead. */
    const setAhead = (ms: number): void => {
      for (const [key, token] of world.tokens) {
        const place = JSON.parse(token) as { readonly start: { readonly at: number } };
        const start = { ...place.start, at: emulator.clock.now() + ms };
        world.tokens.set(key, JSON.stringify({ ...place, start }));
      }
    };
    await expectInStep(world);
    setAhead(DAY_MS);
    callsOf(world);
    await expectInStep(world);
    expect(callsOf(world)).not.toContain("POST ");
    setAhead(DAY_MS + 1);
    await expectInStep(world);
    expect(callsOf(world)).toContain("POST ");
  },
);

test("another window in the options begins a new sync", async () => {
  const { world } = await startWorld({ window: { daysPast: 7 } });
  await expectInStep(world);
  callsOf(world);
  await world.crash();
  await expectInStep(world);
  expect(callsOf(world)).not.toContain("POST ");
  await world.crash({ window: { daysPast: 8 } });
  await expectInStep(world);
  expect(callsOf(world)).toContain("POST ");
});
