import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { prometheusMetrics } from "hookline/prometheus";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { valueIn } from "./series.ts";

test("the metrics tell workers and shards: one process has all 64, of two each has a part", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const start = async () => {
    const receiver = createReceiver({ secret: "s", inbox: postgresInbox(connectionString), log: false });
    onTestFinished(() => receiver.close({ drainMs: 0 }).then(() => {}));
    const metrics = prometheusMetrics(receiver);
    receiver.on("*", () => {});
    await receiver.start();
    return { value: async (name: string) => valueIn(await metrics.text(), name) };
  };
  const first = await start();
  await eventually(async () => expect([await first.value("workers"), await first.value("shards")]).toEqual([1, 64]));
  const second = await start();
  await eventually(async () => {
    expect([await first.value("workers"), await second.value("workers")]).toEqual([2, 2]);
    expect(Number(await first.value("shards")) + Number(await second.value("shards"))).toBe(64);
    expect(await second.value("shards")).toBeGreaterThan(0);
  });
});
