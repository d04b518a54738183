import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/http.ts";

/** Debian's package `prometheus` brings it, with `promtool`. */
export const noPrometheus = spawnSync("prometheus", ["--version"]).error !== undefined;

export interface PrometheusServer {
  /** The result of a query. @throws Error with what Prometheus says of it */
  query(
    expr: string,
  ): Promise<readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[]>;
}

/** A real Prometheus that scrapes these addresses as job `mail`, until the test ends. */
export async function startPrometheus(targets: readonly string[] = [], scrapeMs = 200): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-prometheus-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(
    join(folder, "prometheus.yml"),
    JSON.stringify({
      global: { scrape_interval: `${scrapeMs}ms`, scrape_timeout: `${scrapeMs}ms` },
      scrape_configs: [{ job_name: "mail", static_configs: [{ targets }] }],
    }),
  );
  const args = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const server = spawn("prometheus", args, { stdio: "ignore" });
  onTestFinished(async () => {
    server.kill("SIGKILL");
    if (server.exitCode === null && server.signalCode === null)
      await new Promise((resolve) => void server.once("exit", resolve));
    rmSync(folder, { recursive: true, force: true });
  });
  await eventually(async () => {
    if (!(await fetch(`${url}/-/ready`)).ok) throw new Error("Prometheus is not ready yet.");
  });
  return {
    async query(expr) {
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`);
      const { status, data, error } = (await answer.json()) as {
        status: string;
        error?: string;
        data: { result: Awaited<ReturnType<PrometheusServer["query"]>> };
      };
      if (status !== "success") throw new Error(`${expr}: ${error}`);
      return data.result;
    },
  };
}
