import { expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import type { StoredJob } from "../../src/inbox/port/jobs.ts";
import { readEvents } from "../../src/receiver/jobs/create-jobs.ts";
import { bodyOf, change, makeDelivery } from "../support/make-delivery.ts";

const stored = toStored("1", makeDelivery(bodyOf({ payloads: [change("a"), change("b"), change("c")] })));

function jobAt(entry: number, deliveryId = "1"): StoredJob {
  return { id: `${deliveryId}-${entry}`, entry, deliveryId, event: undefined } as unknown as StoredJob;
}

test("jobs whose first of a delivery has gone meanwhile are read all the same", async () => {
  const jobs = [jobAt(0), jobAt(1), jobAt(2)];
  const asked: string[] = [];
  const get = async (id: string) => {
    asked.push(id);
    return id === "1-0" ? undefined : { job: jobAt(1), delivery: stored };
  };
  const events = await readEvents({ get }, jobs);
  expect(jobs.map((job) => events.get(job))).toMatchObject([undefined, { id: "b" }, { id: "c" }]);
  expect(asked).toEqual(["1-0", "1-1"]);
});

test("at most 50 deliveries are read at once", async () => {
  let [open, most] = [0, 0];
  const get = async () => {
    most = Math.max(most, (open += 1));
    await Promise.resolve();
    open -= 1;
    return { job: jobAt(0), delivery: stored };
  };
  const events = await readEvents(
    { get },
    Array.from({ length: 120 }, (_, index) => jobAt(0, String(index))),
  );
  expect([events.size, most]).toEqual([120, 50]);
});
