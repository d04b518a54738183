import { describe } from "vitest";
import { checkEngine } from "../../suites/queues/check-engine.ts";
import { ENGINES } from "../../support/queues/engines.ts";

for (const engine of ENGINES.filter(({ name }) => name === "pg-boss")) describe(engine.name, () => checkEngine(engine));
