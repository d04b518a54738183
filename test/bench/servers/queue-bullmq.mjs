import { Queue, Worker } from "bullmq";

const QUEUE = "jobs";

/** @type {import("../postgres/queue.ts").OpenQueue} */
export default async function openBullmq(url) {
  const connection = { url, maxRetriesPerRequest: null };
  const queue = new Queue(QUEUE, { connection });
  const opts = { removeOnComplete: true };
  let worker;
  return {
    prepare: (jobs) => jobs.map(({ index, body }) => ({ name: "job", data: { index, body }, opts })),
    insert: (jobs) => queue.addBulk(jobs),
    async work(handle) {
      worker = new Worker(QUEUE, async ({ data }) => handle(data.index), { connection, concurrency: 200 });
      await worker.waitUntilReady();
    },
    async close() {
      await worker?.close();
      await queue.close();
    },
  };
}
