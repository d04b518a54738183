import { createEmulator } from "hookline/emulator";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCli } from "../../cli/child.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/http.ts";
import { noPrometheus, startPrometheus } from "./prometheus-server.ts";

/** Of deliveries between two looks; `HOOKLINE_SCRAPE_SECONDS=60` for a long run. */
const SECONDS = Number(process.env["HOOKLINE_SCRAPE_SECONDS"] ?? 2);

test.skipIf(noPrometheus)(
  "Prometheus knows what failed as the service does, after a kill -9 and a restart too",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookline-scraped-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [port, adminPort] = [await freePort(), await freePort()];
    const emulator = await createEmulator({ redelivery: { giveUpAfter: 1 } });
    onTestFinished(() => emulator.close());
    const serve = async () => {
      const args = ["serve", "--port", `${port}`, "--admin-port", `${adminPort}`, "--inbox", join(folder, "inbox.db")];
      const child = startCli(args, { SIGNING_SECRET: emulator.secret });
      await child.says("err", /listening/);
      return child;
    };
    const prometheus = await startPrometheus([`127.0.0.1:${adminPort}`]);
    const value = async (expr: string): Promise<number> => Number((await prometheus.query(expr))[0]?.value[1]);

    const first = await serve();
    await eventually(async () => expect(await value("hookline_live")).toBe(1));
    const account = await emulator.account();
    const id = await emulator.subscribe(account, "/email/messages", `http://127.0.0.1:${port}/webhooks`);
    const journal = (status: number): number => emulator.journal.filter((attempt) => attempt.status === status).length;
    async function deliver(): Promise<void> {
      const end = Date.now() + SECONDS * 1_000;
      for (let sent = 0; Date.now() < end || sent < 20; sent += 1) {
        emulator.fault(id, sent % 3 === 0 ? "wrong-signature" : undefined);
        await account.receiveMail();
        await emulator.settled();
        await new Promise((resolve) => setTimeout(resolve, 25 * SECONDS));
      }
    }

    await deliver();
    await eventually(async () => {
      expect(await value('hookline_refused_total{code="signature-wrong"}')).toBe(journal(401));
      // The handshake is a request, and no delivery.
      expect(await value('hookline_requests_total{status="200"}')).toBe(journal(200) + 1);
      expect(await value("hookline_deliveries_stored_total")).toBe(journal(200));
      expect(await value('sum(hookline_jobs_finished_total{outcome=~"done|merged"})')).toBe(journal(200));
    });
    expect(journal(401)).toBeGreaterThan(5);

    first.kill("SIGKILL");
    await first.ended;
    await serve();
    await eventually(async () => expect(await value("resets(hookline_deliveries_stored_total[1h])")).toBe(1));
    await deliver();
    await eventually(async () => {
      const failed = await value('increase(hookline_refused_total{code="signature-wrong"}[1h])');
      expect(Math.abs(failed - journal(401))).toBeLessThanOrEqual(1);
      const stored = await value("increase(hookline_deliveries_stored_total[1h])");
      expect(Math.abs(stored - journal(200))).toBeLessThanOrEqual(1);
    });
  },
  60_000 + 2_000 * SECONDS,
);
