import { PgBoss } from "pg-boss";

const QUEUE = "jobs";

/** @type {import("../postgres/queue.ts").OpenQueue} */
export default async function openPgBoss(connectionString) {
  const boss = new PgBoss({ connectionString, supervise: false, schedule: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE, { policy: "key_strict_fifo" });
  return {
    prepare: (jobs) => jobs.map(({ index, lane, body }) => ({ data: { index, body }, singletonKey: lane })),
    insert: (jobs) => boss.insert(QUEUE, jobs),
    async work(handle) {
      const options = { batchSize: 200, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
      await boss.work(QUEUE, options, async (jobs) => {
        for (const { data } of jobs) handle(data.index);
      });
    },
    close: () => boss.stop({ graceful: true, timeout: 10_000 }),
  };
}
