import { createReceiver } from "hookline";
import { pgBossInbox } from "hookline/pg-boss";
import { PgBoss } from "pg-boss";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkEngine } from "../../suites/queues/check-engine.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { ENGINES } from "../../support/queues/engines.ts";

for (const engine of ENGINES.filter(({ name }) => name === "pg-boss")) describe(engine.name, () => checkEngine(engine));

describe("a queue of pg-boss", () => {
  test.each([
    ["standard", [200, 200, 200]],
    ["key_strict_fifo", [200, 200, 200]],
    ["short", [200, 503, 503]],
    ["exclusive", [200, 503, 503]],
  ] as const)("of the policy %s: what is answered 200 is there", async (policy, statuses) => {
    const { connectionString, drop } = await newDatabase();
    const boss = new PgBoss(connectionString);
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("deliveries", { policy });
    const inbox = pgBossInbox(boss, { queue: "deliveries", group: "account" });
    const receiver = createReceiver({ secret: "a secret", inbox, log: false });
    onTestFinished(async () => {
      await receiver.close();
      await boss.stop({ graceful: false });
      await drop();
    });
    const answers: number[] = [];
    for (const id of ["a", "b", "c"]) {
      const request = signedRequest(bodyOf({ payloads: [change(id)] }), { secret: "a secret", at: new Date() });
      answers.push((await receiver.receive(request)).status);
    }
    expect(answers).toEqual(statuses);
    expect(await boss.findJobs("deliveries")).toHaveLength(statuses.filter((status) => status === 200).length);
  });
});
