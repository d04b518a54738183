import { Logger, makeWorkerUtils, run } from "graphile-worker";

const logger = new Logger(() => () => {});

/** @type {import("../postgres/queue.ts").OpenQueue} */
export default async function openGraphileWorker(connectionString) {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  let runner;
  return {
    prepare: (jobs) => jobs.map(({ index, body }) => ({ identifier: "job", payload: { index, body } })),
    insert: (jobs) => utils.addJobs(jobs),
    async work(handle) {
      runner = await run({
        preset: {
          worker: { connectionString, concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0 },
        },
        logger,
        noHandleSignals: true,
        taskList: { job: async ({ index }) => handle(index) },
      });
    },
    async close() {
      await runner?.stop();
      await utils.release();
    },
  };
}
