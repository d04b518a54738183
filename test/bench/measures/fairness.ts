import { createReceiver, type Receiver } from "../../../src/index.ts";
import { SECRET } from "../signing.ts";
import { openInbox } from "./inbox.ts";
import { readSizes, sendResult } from "./send-result.ts";
import { CONCURRENCY, bodyOf, deliver, fill } from "./stored.ts";

// One account has a lane for each of its jobs, and then another one gets a single job: how many calls start before it. Then as many accounts
// as given have work of very different size (Zipf): what the one with the least starts has of an equal share, over as many starts.
const FIRST = 2_002;
const LATE = 9_009;

/** So many calls have started when the single job comes. */
const STARTED = 1_000;

const [lanes = 0, accounts = 0, isFair = 1] = readSizes();
const options = {
  secret: SECRET,
  concurrency: CONCURRENCY,
  fairness: isFair === 1 ? "account" : "none",
  log: false,
} as const;

/** All is there as jobs before the first one starts: what is stored before the start would become jobs page by page. */
async function whilePaused(receiver: Receiver, store: () => Promise<unknown>): Promise<void> {
  await receiver.flow.pause({ consumer: "default" }, { reason: "the bench" });
  await receiver.start();
  await store();
  await receiver.flow.resume({ consumer: "default" });
}

async function startsBefore(): Promise<number> {
  const receiver = createReceiver({ ...options, inbox: openInbox() });
  let [starts, storedAt, startedAt] = [0, 0, 0];
  let late: Promise<void> | undefined;
  receiver.on("email", async ({ accountId }) => {
    starts += 1;
    if (accountId === LATE) startedAt = starts;
    if (starts === STARTED) late = deliver(receiver, bodyOf([0], LATE)).then(() => void (storedAt = starts));
    await new Promise(setImmediate);
  });
  await whilePaused(receiver, () => fill(receiver, { jobs: lanes, lanes, accountId: FIRST }));
  await receiver.idle();
  await late;
  await receiver.idle();
  await receiver.close();
  return startedAt - storedAt;
}

/** Account n has 1/n of what the first one has, and at least as many jobs as are an equal share. */
async function leastShare(): Promise<number> {
  const receiver = createReceiver({ ...options, inbox: openInbox() });
  const starts = new Map<number, number>();
  const equal = 10;
  let count = 0;
  receiver.on("email", async ({ accountId }) => {
    count += 1;
    if (count <= accounts * equal) starts.set(accountId, (starts.get(accountId) ?? 0) + 1);
    await new Promise(setImmediate);
  });
  await whilePaused(receiver, async () => {
    for (let nth = 1; nth <= accounts; nth += 1) {
      const jobs = Math.max(Math.round(lanes / nth / 10), equal);
      await fill(receiver, { jobs, lanes: jobs, accountId: nth });
    }
  });
  await receiver.idle();
  await receiver.close();
  return Math.min(...Array.from({ length: accounts }, (_, nth) => starts.get(nth + 1) ?? 0)) / equal;
}

sendResult({ starts: await startsBefore(), share: await leastShare() });
