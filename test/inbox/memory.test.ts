import { memoryInbox, StorageError, UsageError, type MemoryInboxOptions } from "hookline";
import { describe, expect, test } from "vitest";
import type { NewDelivery } from "../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { mail, raw, told, UNHANDLED } from "../suites/inbox/deliveries.ts";
import { openBench } from "../suites/inbox/fixture.ts";
import { claimAll, claimOne, dead, done, findAll, killAll, settleAll, storeAll } from "../suites/inbox/verbs.ts";
import { logRecorder } from "../support/log-recorder.ts";

function make(options: MemoryInboxOptions) {
  return openBench({ make: () => memoryInbox(options) });
}

function unhandledMail(...ids: readonly string[]): NewDelivery {
  return mail(ids.map((id) => Object.assign({ id }, UNHANDLED)));
}

const BYTES = mail(["a"]).delivery.body.byteLength;

/** Records of the jobs that are there. */
async function left(inbox: WorkingInbox): Promise<unknown[]> {
  return (await findAll(inbox)).map(({ event }) => (event as { readonly id?: string }).id);
}

describe("the memory inbox", () => {
  test.each([{ maxJobs: 0 }, { maxJobs: 1.5 }, { maxJobs: -1 }, { maxBytes: 0 }, { maxBytes: Number.NaN }])(
    "refuses %o, and says what it expected",
    (options) => {
      expect(() => memoryInbox(options)).toThrow(UsageError);
      expect(() => memoryInbox(options)).toThrow(/expected a whole number from 1 on/);
    },
  );

  test("keeps in memory, for one process, and says so", async () => {
    const { inbox } = await make({});
    expect(inbox.storage).toBe("memory");
    expect(inbox.capabilities).toEqual({ durability: "none", order: "strict", shared: false, workers: "one" });
  });

  test("is closed once: a second close does nothing", async () => {
    const { inbox } = await make({});
    await inbox.store([mail(["a"])]);
    await inbox.close();
    await inbox.close();
  });

  test("erases an account whole where one of its deliveries is being expanded", async () => {
    const { inbox } = await make({});
    const full = mail(["a"], { accountId: 7 });
    await inbox.store([raw(full)]);
    const [one] = await inbox.unexpanded(1);
    const erased = inbox.jobs.erase(7);
    await inbox.expand([{ id: one?.id ?? "", events: full.events, cursor: undefined }]);
    expect(await erased).toMatchObject({ count: 1, deliveries: 1 });
    expect(await left(inbox)).toEqual([]);
  });

  test("does nothing before it is open", async () => {
    const inbox = memoryInbox() as WorkingInbox<"memory">;
    await expect(inbox.claim({ max: 1, mergeMax: 1 })).rejects.toThrow(StorageError);
  });

  test("serves one receiver at a time", async () => {
    const { inbox, host } = await make({});
    await storeAll(inbox, mail(["a"]));
    await inbox.open(host); // again after a failure
    const other = { ...host };
    await expect(inbox.open(other)).rejects.toMatchObject({ code: "inbox-shared", fix: expect.any(String) });
    await inbox.close();
    await inbox.open(other);
    expect(inbox.stats().waiting).toBe(1);
  });

  test("forgets done and skipped jobs at once", async () => {
    const { inbox } = await make({ maxJobs: 1 });
    for (let round = 0; round < 3; round += 1) {
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), done);
    }
    expect(await findAll(inbox)).toEqual([]);
  });
});

describe("a full memory inbox", () => {
  test("refuses each delivery by itself with inbox-full, and says what it holds", async () => {
    const { inbox } = await make({ maxJobs: 2 });
    const [first, second, third] = await inbox.store([mail(["a"]), raw(mail(["b"])), mail(["c"])]);
    expect([first, second]).toEqual([
      expect.objectContaining({ expanded: true }),
      expect.objectContaining({ expanded: false }),
    ]);
    expect(third).toBeInstanceOf(StorageError);
    expect(third).toMatchObject({ code: "inbox-full", message: expect.stringMatching(/2 jobs/) });
    expect(inbox.ready()).toMatchObject({ ready: false, error: { code: "inbox-full" } });
  });

  test("takes deliveries again as soon as a job is done", async () => {
    const { inbox } = await make({ maxJobs: 1 });
    await storeAll(inbox, mail(["a"]));
    await settleAll(inbox, await claimOne(inbox), done);
    expect(inbox.ready()).toEqual({ ready: true });
    await storeAll(inbox, mail(["b"]));
  });

  test("counts the bytes of bodies, each once however many jobs it has, until the last of them is gone", async () => {
    const { inbox } = await make({ maxBytes: 2 * BYTES });
    const two = [
      { consumer: "default", lane: "default" },
      { consumer: "search", lane: "search" },
    ];
    await storeAll(inbox, mail([{ id: "a", jobs: two }]), raw(mail(["b"])));
    expect(await inbox.store([mail(["c"])])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
    const [first, second] = await claimAll(inbox, { max: 2 });
    if (first === undefined || second === undefined) throw new Error("expected two claims");
    await settleAll(inbox, first, done);
    expect(await inbox.store([mail(["c"])])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
    await settleAll(inbox, second, done);
    await storeAll(inbox, mail(["c"]));
  });

  test("makes room from unhandled jobs first, then from dead ones, oldest first", async () => {
    const bench = await make({ maxJobs: 5 });
    const { inbox } = bench;
    await killAll(bench, "dead 1", "dead 2");
    await storeAll(inbox, unhandledMail("nobody's 1", "nobody's 2"), mail(["waiting"]));
    expect(inbox.ready()).toEqual({ ready: true });
    const steps: unknown[][] = [];
    for (const id of ["a", "b", "c", "d"]) {
      await storeAll(inbox, mail([id]));
      steps.push(await left(inbox));
    }
    expect(steps).toEqual([
      ["dead 1", "dead 2", "nobody's 2", "waiting", "a"],
      ["dead 1", "dead 2", "waiting", "a", "b"],
      ["dead 2", "waiting", "a", "b", "c"],
      ["waiting", "a", "b", "c", "d"],
    ]);
    expect(await inbox.store([mail(["e"])])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
    expect(inbox.ready()).toMatchObject({ ready: false });
  });

  test("says in the log how many it dropped", async () => {
    const inbox = memoryInbox({ maxJobs: 2 }) as WorkingInbox<"memory">;
    const { host, clock } = await openBench({ make: () => inbox });
    await inbox.close();
    const log = logRecorder();
    await inbox.open({ ...host, clock, log: log.logger });
    await storeAll(inbox, unhandledMail("a", "b"));
    await storeAll(inbox, mail(["c"]));
    expect(log.of("memory-dropped")).toMatchObject([{ level: "error", facts: { count: 1 } }]);
  });

  test("says in the log how many jobs and deliveries it lost with its close, and nothing where it lost none", async () => {
    const inbox = memoryInbox() as WorkingInbox<"memory">;
    const { host, clock } = await openBench({ make: () => inbox });
    await inbox.close();
    const log = logRecorder();
    await inbox.open({ ...host, clock, log: log.logger });
    await inbox.close();
    expect(log.lines).toEqual([]);
    await inbox.open({ ...host, clock, log: log.logger });
    await storeAll(inbox, mail(["running"]), mail(["waiting"]), raw(mail(["unexpanded"])));
    await claimAll(inbox, { max: 1 });
    await inbox.close();
    expect(log.lines).toMatchObject([{ level: "warn", facts: { code: "memory-lost", count: 3 } }]);
  });

  test("drops nothing for a delivery that would not fit even then", async () => {
    const bench = await make({ maxJobs: 3, maxBytes: 4 * BYTES });
    const { inbox } = bench;
    await killAll(bench, "dead");
    await storeAll(inbox, unhandledMail("nobody's"), mail(["waiting"]));
    const huge = mail(["a"], { filler: "x".repeat(4 * BYTES) });
    expect(await inbox.store([huge])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
    expect(await left(inbox)).toEqual(["dead", "nobody's", "waiting"]);
  });

  test("drops no dead letter while those that wait fill it alone", async () => {
    const bench = await make({ maxJobs: 2 });
    const { inbox } = bench;
    await killAll(bench, "dead");
    await storeAll(inbox, mail(["b", "c", "d"]));
    expect(await inbox.store([mail(["e"])])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
    expect(inbox.stats()).toMatchObject({ dead: 1, waiting: 3 });
  });

  test("drops no dead letter while the bodies of those that wait fill it alone", async () => {
    const bench = await make({ maxBytes: 5 * BYTES });
    const { inbox } = bench;
    await killAll(bench, "a");
    await storeAll(inbox, mail(["waiting"], { filler: "x".repeat(2 * BYTES) }));
    expect(await inbox.store([mail(["e"], { filler: "x".repeat(BYTES) })])).toEqual([
      expect.objectContaining({ code: "inbox-full" }),
    ]);
    expect(inbox.stats()).toMatchObject({ dead: 1, waiting: 1 });
  });

  test("has room for what a dead letter's body took, once it is dropped", async () => {
    const bench = await make({ maxBytes: 2 * BYTES });
    const { inbox } = bench;
    await killAll(bench, "a");
    await storeAll(inbox, mail(["b"]));
    expect(inbox.ready()).toEqual({ ready: true });
    await storeAll(inbox, mail(["c"]));
    expect(await left(inbox)).toEqual(["b", "c"]);
    expect(inbox.ready()).toMatchObject({ ready: false });
  });

  test("replays and erases without losing count of its room", async () => {
    const bench = await make({ maxJobs: 2, maxBytes: 2 * BYTES });
    const { inbox } = bench;
    const [id] = await killAll(bench, "a");
    await inbox.jobs.replay({ ids: [id ?? ""] });
    await settleAll(inbox, await claimOne(inbox), done);
    await storeAll(inbox, mail(["b"]), raw(mail(["c"])));
    await claimOne(inbox);
    expect((await inbox.jobs.erase(2002)).count).toBe(2);
    await storeAll(inbox, mail(["d"]));
    await storeAll(inbox, mail(["e"]));
    expect(await inbox.store([mail(["f"])])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
  });
});

describe("expansion", () => {
  test("waits while there is no room for jobs, and so does everything newer", async () => {
    const { inbox } = await make({ maxJobs: 3 });
    const long = mail(["a", "b", "c", "d"]);
    const [stored] = await storeAll(inbox, raw(long), raw(mail(["e"])));
    await inbox.expand([{ id: stored?.id ?? "", events: long.events.slice(0, 3), cursor: 3 }]);
    expect(await inbox.unexpanded(10)).toEqual([]);
    expect(inbox.stats().unexpanded).toBe(2);
    await settleAll(inbox, (await claimAll(inbox))[0] ?? (undefined as never), done);
    expect(await inbox.unexpanded(10)).toMatchObject([{ id: stored?.id, cursor: 3 }, { cursor: 0 }]);
  });

  test("does not wait for dead or unhandled jobs: they make room", async () => {
    const bench = await make({ maxJobs: 3 });
    const { inbox } = bench;
    await killAll(bench, "dead");
    await storeAll(inbox, unhandledMail("nobody's"), raw(mail(["a"])));
    expect(await inbox.unexpanded(10)).toHaveLength(1);
  });
});

test.each([
  { what: "done", to: async (inbox: WorkingInbox) => settleAll(inbox, await claimOne(inbox), done) },
  { what: "dropped", to: async (inbox: WorkingInbox) => void (await inbox.jobs.drop({ states: ["waiting"] })) },
  { what: "erased", to: async (inbox: WorkingInbox) => void (await inbox.jobs.erase(7)) },
])("a dead letter stays while jobs and bodies that fit beside it are $what", async ({ to }) => {
  const bench = await make({ maxJobs: 2, maxBytes: 2 * BYTES });
  const { inbox } = bench;
  await killAll(bench, "a");
  for (let round = 0; round < 3; round += 1) {
    await storeAll(inbox, mail(["b"], { accountId: 7 }));
    await to(inbox);
  }
  expect(await left(inbox)).toEqual(["a"]);
  expect(inbox.ready()).toEqual({ ready: true });
});

test("a job is found by its id alone, not by another way to write the number", async () => {
  const { inbox } = await make({});
  await storeAll(inbox, mail(["a"]));
  const [{ id } = { id: "" }] = await findAll(inbox);
  expect([await inbox.jobs.get(`0${id}`), await inbox.jobs.get(`${id}.0`), await inbox.jobs.get("99")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(await inbox.jobs.get(id)).toBeDefined();
});

describe("the unique keys of a memory inbox", () => {
  test("are forgotten after the window", async () => {
    const { inbox, clock, host } = await make({});
    const event = told({ key: "k", content: "c" });
    await storeAll(inbox, event);
    await clock.advance(host.dedupeWindowMs - 1);
    expect((await storeAll(inbox, event))[0]?.duplicates).toEqual([0]);
    await clock.advance(host.dedupeWindowMs);
    expect((await storeAll(inbox, event))[0]?.duplicates).toEqual([]);
  });

  test("are forgotten, oldest first, when there are more than it keeps jobs", async () => {
    const { inbox } = await make({ maxJobs: 10 });
    const event = (id: number) => told({ key: `tracking:1:${id}`, content: "open" });
    for (let id = 0; id < 20; id += 1) {
      const [stored] = await storeAll(inbox, event(id));
      expect(stored?.duplicates).toEqual([]);
      await settleAll(inbox, await claimOne(inbox), done);
    }
    expect((await storeAll(inbox, event(19)))[0]?.duplicates).toEqual([0]);
    expect((await storeAll(inbox, event(0)))[0]?.duplicates).toEqual([]);
  });

  test("survive an open that comes again", async () => {
    const { inbox, host } = await make({});
    await storeAll(inbox, told({ key: "k", content: "c" }));
    await inbox.open(host);
    expect((await storeAll(inbox, told({ key: "k", content: "c" })))[0]?.duplicates).toEqual([0]);
  });
});

test("a dead job is not dropped for room while it is being replayed", async () => {
  const bench = await make({ maxJobs: 1 });
  const { inbox } = bench;
  await killAll(bench, "a");
  await inbox.jobs.replay({ states: ["dead"] });
  expect(await inbox.store([mail(["b"])])).toEqual([expect.objectContaining({ code: "inbox-full" })]);
  await settleAll(inbox, await claimOne(inbox), dead(bench));
  await storeAll(inbox, mail(["b"]));
  expect(await left(inbox)).toEqual(["b"]);
});
