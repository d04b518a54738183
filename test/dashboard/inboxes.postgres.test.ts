import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCli } from "../cli/in-process.ts";
import { until } from "../support/event-loop.ts";
import { send } from "../support/http.ts";
import { newDatabase } from "../support/postgres.ts";
import { checkDashboard } from "./check-dashboard.ts";
import { asking, troubled } from "./support.ts";

test("a dashboard over a database", async () => checkDashboard(postgresInbox((await newDatabase()).connectionString)));

test("on PostgreSQL the workers are listed with their shares, by the command too", async () => {
  const { connectionString: url } = await newDatabase();
  const receiver = await troubled({ inbox: postgresInbox(url) });
  const other = createReceiver({ secret: "s", inbox: postgresInbox(url), log: false });
  onTestFinished(() => void other.close({ drainMs: 0 }));
  await other.start();
  const { read } = asking(receiver, () => ({}));
  await vi.waitUntil(async () => (await read("now")).workers.length === 2, { timeout: 20_000 });
  const { workers } = (await read("now")) as { workers: { isThis: boolean; share: number }[] };
  expect(workers.filter(({ isThis }) => isThis)).toHaveLength(1);
  await vi.waitUntil(async () => (await read("now")).workers.every(({ share }: { share: number }) => share === 0.5), {
    timeout: 20_000,
  });
  const cli = runCli(["inbox", "ui", "--inbox", url]);
  await until(() => cli.out().includes("http://"));
  const page = /^http\S+/m.exec(cli.out())?.[0] ?? "";
  // Shards may still be on their way from the one to the other.
  await vi.waitFor(
    async () => {
      const { body } = await send(`${page}api/now`, { method: "GET" });
      expect(JSON.parse(body)).toMatchObject({ role: "worked-on", dead: 6, workers: [{ share: 0.5 }, { share: 0.5 }] });
    },
    { timeout: 20_000 },
  );
  // It follows what happens while somebody looks.
  await receiver.flow.pause({ accountId: 2002 }, { reason: "import" });
  await vi.waitFor(
    async () => {
      const { body } = await send(`${page}api/now`, { method: "GET" });
      expect(JSON.parse(body)).toMatchObject({ paused: [{ accountId: 2002 }] });
    },
    { timeout: 20_000 },
  );
  const dead = await send(`${page}api/dead`, { method: "GET" });
  expect(JSON.parse(dead.body)).toMatchObject({ count: 6, groups: [{ count: 3 }, { count: 3 }] });
});
