import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";

test("more jobs than fit one page of the server may be in hand at once", async () => {
  const database = await newDatabase();
  const inbox = postgresInbox(database.connectionString);
  const receiver = createReceiver({ secret: "a secret", inbox, log: false, concurrency: 2_000 });
  let most = 0;
  let running = 0;
  const go = Promise.withResolvers<void>();
  receiver.on("email", async () => {
    most = Math.max(most, (running += 1));
    if (running === 1_500) go.resolve();
    await go.promise;
    running -= 1;
  });
  onTestFinished(async () => {
    go.resolve();
    await receiver.close({ drainMs: 0 });
    await database.drop();
  });
  await receiver.start();
  const body = (first: number): string =>
    bodyOf({ payloads: Array.from({ length: 500 }, (_, i) => change(`m-${first + i}`)) });
  for (const first of [0, 500, 1_000]) {
    const request = signedRequest(body(first), { secret: "a secret", at: new Date() });
    expect(await receiver.receive(request)).toMatchObject({ status: 200 });
  }
  await receiver.idle();
  expect(most).toBe(1_500);
  expect(receiver.stats()).toMatchObject({ succeeded: 1_500, failed: 0 });
});
