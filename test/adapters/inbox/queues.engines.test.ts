import { describe, test } from "vitest";
import { checkEngine } from "../../suites/queues/check-engine.ts";
import { ENGINES } from "../../support/queues/engines.ts";

for (const engine of ENGINES.filter(({ name }) => name !== "pg-boss"))
  if (engine.skip === undefined) describe(engine.name, () => checkEngine(engine));
  else test.skip(`${engine.name} (${engine.skip})`, () => {});
