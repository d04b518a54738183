import type { JobOutcome, WorkingInbox } from "hookline/adapter";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { readPlaces, type Place } from "./job-places.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "./mortal-sqlite-inbox.ts";
import { claimedIds, folderFor, onDisk } from "./on-disk.ts";

const AHEAD = { max: 10, mergeMax: 10, ahead: () => 10 };

test("a fresh job that is about to be claimed while the file is opened anew keeps its place in its lane", async () => {
  const channels = faultyChannels(openInline);
  let whileOpening: (() => Promise<unknown>) | undefined;
  const { inbox, clock, isReady } = await onDisk({
    openThread: async (...given) => {
      const channel = await channels.open(...given);
      const claimed = whileOpening?.();
      return {
        ...channel,
        async run(batch) {
          if (batch.tasks.some(({ verb }) => verb === "openJobs")) await claimed;
          return channel.run(batch);
        },
      };
    },
  });
  await inbox.claim(AHEAD);
  await inbox.store([mail([one("a", "k"), one("b", "k")])]); // the second has a row
  channels.next({ errcode: 10 });
  await expect(inbox.claim(AHEAD)).rejects.toThrow("The disk failed");
  whileOpening = () => expect(inbox.claim(AHEAD)).rejects.toThrow("The disk failed");
  await clock.advance(1_000);
  await isReady();
  expect((await inbox.claim(AHEAD)).claims).toMatchObject([{ jobs: [{ entry: 0 }, { entry: 1 }] }]);
});

/** An inbox with room to claim what is stored, whose threads and whose process can die. */
async function mortal() {
  const file = join(folderFor(), "inbox.db");
  const channels = faultyChannels(openInline);
  const make = (): WorkingInbox => mortalSqliteInbox({ file, openThread: channels.open });
  const crash = async (inbox: WorkingInbox): Promise<WorkingInbox> => {
    await crashSqliteInbox(inbox);
    return make();
  };
  const bench = await openBench({ make, crash });
  onTestFinished(bench.end);
  await bench.inbox.claim(AHEAD);
  const places = (): Place[] => [...readPlaces(file).places.values()];
  return { ...bench, channels, places };
}

async function settleAll(inbox: WorkingInbox, outcome: JobOutcome): Promise<void> {
  const { claims } = await inbox.claim(AHEAD);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => outcome) })));
}

test("a job that ends well at its first attempt never has a row", async () => {
  const { inbox, places } = await mortal();
  await inbox.store([mail(["a"])]);
  expect(places()).toEqual(["fresh"]);
  await settleAll(inbox, { to: "done" });
  expect(places()).toEqual(["nowhere"]);
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});

test("a fresh job that fails has a row with its progress from then on, also after the process died", async () => {
  const { inbox, clock, places, succeed } = await mortal();
  await inbox.store([mail(["a"])]);
  const error = { name: "Error", message: "no", at: 1 };
  await settleAll(inbox, { to: "retry", at: clock.now() + 1_000, delayMs: 1_000, counted: true, error });
  expect(places()).toEqual(["job"]);
  const next = await succeed();
  expect(await next.jobs.find({ limit: 1 })).toMatchObject({ jobs: [{ state: "waiting", attempts: 1, error }] });
  expect((await next.claim(AHEAD)).claims).toEqual([]);
  await clock.advance(1_000);
  expect((await next.claim(AHEAD)).claims).toMatchObject([{ jobs: [{ attempt: 2, deaths: 0 }] }]);
});

test("a fresh job that runs while the process dies is claimed by the successor, with one death", async () => {
  const { inbox, places, succeed } = await mortal();
  await inbox.store([mail(["a"])]);
  expect((await inbox.claim(AHEAD)).claims).toMatchObject([{ jobs: [{ attempt: 1, deaths: 0 }] }]);
  expect(places()).toEqual(["fresh"]);
  const next = await succeed();
  expect((await next.claim(AHEAD)).claims).toMatchObject([{ jobs: [{ attempt: 2, deaths: 1 }] }]);
});

test.each(["dead", "unhandled"] as const)("a fresh job that ends as %s is in that table alone", async (to) => {
  const { inbox, places, succeed } = await mortal();
  await inbox.store([mail(["a"])]);
  await settleAll(inbox, { to, error: { name: "Error", message: "no", at: 1 } });
  expect(places()).toEqual([to]);
  expect((await (await succeed()).claim(AHEAD)).claims).toEqual([]);
});

test("jobs of a commit whose outcome was unknown are handled once, in their order, where it held", async () => {
  const { inbox, channels, places } = await mortal();
  channels.next("dies after");
  const unknown = { code: "thread-lost" };
  expect(await inbox.store([mail(["a"]), mail(["b"])])).toMatchObject([unknown, unknown]);
  await eventually(() => expect(inbox.ready().ready).toBe(true));
  expect(places()).toEqual(["job", "job"]);
  expect(await inbox.store([mail(["a"]), mail(["c"])])).toMatchObject([{ expanded: true }, { expanded: true }]);
  expect(await claimedIds(inbox)).toEqual(["a", "b", "c"]); // the second "a" waits for the first one's lane
  expect(await claimedIds(inbox)).toEqual([]);
});
