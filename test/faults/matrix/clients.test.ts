import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { dial, headersText, pour } from "../../support/http.ts";
import { signedHeaders } from "../../support/sign.ts";
import { makeDelivery, type TestDelivery } from "./deliveries.ts";
import { finishAndCheck } from "./finish-and-check.ts";
import { createScenario, startWorker } from "./fleet.ts";
import { rounds } from "./rounds.ts";

const SECRET = "a signing secret";

function headOf({ body }: TestDelivery, length = Buffer.byteLength(body)): string {
  return headersText(
    { ...signedHeaders(body, { secret: SECRET }), "Content-Length": String(length) },
    "POST /hooks HTTP/1.1",
  );
}

test("row 21: clients that disconnect, are slow, or send without end: only a received 200 counts", async () => {
  const { fleet, service } = createScenario();
  const worker = await startWorker(fleet);
  const port = worker.port() ?? 0;
  const times = rounds(100);
  service.load(4);
  const slow = makeDelivery("tracking");
  const slowWire = await dial(port);
  slowWire.write(headOf(slow));
  const rssBefore = (await worker.ask()).rss;
  for (let round = 0; round < times; round += 1) {
    const half = makeDelivery("tracking");
    const cutOff = await dial(port);
    cutOff.write(headOf(half) + half.body.slice(0, 40));
    cutOff.socket.destroy();
    // The body is complete, but the client disconnects before the answer: the delivery may be stored, its redelivery is the same event.
    const whole = makeDelivery("booking");
    const reset = await dial(port);
    reset.write(headOf(whole) + whole.body);
    if (round % 2 === 0) reset.socket.resetAndDestroy();
    else await new Promise<void>((resolve) => setImmediate(() => resolve(reset.socket.resetAndDestroy() && undefined)));
    await Promise.all([service.deliver(half), service.deliver(whole)]);
  }
  const big = await dial(port);
  big.write(headOf(makeDelivery("email"), 1_000_000_000));
  await pour(big, 50_000_000);
  // A client that still sends may find the connection closed before it reads the answer.
  await eventually(() => expect(big.socket.destroyed || /^HTTP\/1.1 413 /.test(big.text())).toBe(true));
  const { rss, stats } = await worker.ask();
  expect(stats.refused["body-too-large"]).toBe(1);
  const grown = rss - rssBefore;
  for (const byte of slow.body) slowWire.write(byte);
  await eventually(() => expect(slowWire.text()).toMatch(/^HTTP\/1.1 (200|408) /));
  await service.deliver(slow);
  await finishAndCheck(fleet, service, {
    row: "row 21",
    tried: { "cut off": times, reset: times, "grown MiB": Math.round(grown / 2 ** 20) },
    worker,
  });
});
