import { ENGINES } from "../support/queues/engines.ts";
import { checkQueueExamples } from "./check-queue-examples.ts";

const VARIABLES = { bullmq: "REDIS_URL", nats: "NATS_URL" };

for (const engine of ENGINES)
  if (engine.name === "bullmq" || engine.name === "nats") checkQueueExamples(engine, VARIABLES[engine.name]);
