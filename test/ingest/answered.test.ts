import { createReceiver, memoryInbox, type Observer } from "hookline";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";
import { rig } from "../support/rig.ts";

type Answered = Parameters<NonNullable<Observer["answered"]>>[0];

test("an observer is told of each answer, with the code of a refusal, and how long it took", async () => {
  const { receiver, offer } = rig();
  const answers: Answered[] = [];
  receiver.observe({ answered: (answer) => answers.push(answer) });
  await offer();
  await offer(bodyOf(), { at: new Date(0) });
  await receiver.receive({ method: "GET", url: "/", headers: {}, body: new Uint8Array() });
  await receiver.unsubscribe(1001, "gone");
  await offer();
  const durationMs = expect.any(Number) as number;
  expect(answers).toEqual([
    { status: 200, durationMs },
    { status: 401, code: "timestamp-stale", durationMs },
    { status: 405, code: "method-not-allowed", durationMs },
    { status: 422, durationMs },
  ]);
  for (const answer of answers) expect(answer.durationMs).toBeGreaterThanOrEqual(0);
});

test("the duration has the time that the body took", async () => {
  const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: false });
  onTestFinished(() => void receiver.close());
  const answers: Answered[] = [];
  receiver.observe({ answered: (answer) => answers.push(answer) });
  const body = bodyOf();
  const request = signedRequest(body, { secret: "s", at: new Date() });
  const startedAt = performance.now();
  async function slowly(): Promise<Uint8Array> {
    while (performance.now() - startedAt < 20) await new Promise((resolve) => setImmediate(resolve));
    return Buffer.from(body);
  }
  expect(await receiver.receive({ ...request, body: slowly })).toMatchObject({ status: 200 });
  expect(answers[0]?.durationMs).toBeGreaterThan(15);
  expect(answers[0]?.durationMs).toBeLessThanOrEqual(performance.now() - startedAt);
});

test("an observer of answers that throws changes none", async () => {
  const { receiver, offer, log } = rig();
  receiver.observe({
    answered() {
      throw new Error("no");
    },
  });
  expect(await offer()).toMatchObject({ status: 200 });
  expect(await offer(bodyOf(), { at: new Date(0) })).toMatchObject({ status: 401 });
  expect(log.text()).toContain("observer-failed");
});
