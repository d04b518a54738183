import { ENGINES } from "../support/queues/engines.ts";
import { checkQueueExamples } from "./check-queue-examples.ts";

for (const engine of ENGINES) if (engine.name === "pg-boss") checkQueueExamples(engine, "DATABASE_URL");
