import { createEmulator } from "hookline/emulator";
import { createReceiver, GiveUp, memoryInbox } from "hookline";
import { nodeReceiver } from "hookline/node";
import { prometheusMetrics } from "hookline/prometheus";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// `npm run docs:board`: a receiver works for some minutes beside the emulator, a real Prometheus scrapes it, and what the board of deploy/grafana
// asks is drawn as docs/pictures/board.svg. Needs Debian's package `prometheus`; Grafana itself is not part of it.
const SECONDS = Number(process.env["BOARD_SECONDS"] ?? 180);
const STEP = 2;
const COLORS = ["#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#f2495c", "#b877d9", "#8ab8ff", "#c0d8ff"];
const root = join(import.meta.dirname, "../..");

interface Panel {
  readonly type: "stat" | "timeseries";
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig: { readonly defaults: { readonly unit: string } };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}
/** A line of a panel: its name, and [second, value]. */
interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

const { panels } = JSON.parse(readFileSync(join(root, "deploy/grafana/hookline.json"), "utf8")) as {
  readonly panels: readonly Panel[];
};
const drawn = await measure();
writeFileSync(join(root, "docs/pictures/board.svg"), draw(drawn));

/** What each panel asks, of a run. */
async function measure(): Promise<ReadonlyMap<Panel, readonly Line[]>> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-board-"));
  const emulator = await createEmulator({ redelivery: { giveUpAfter: 2 } });
  const receiver = createReceiver({
    secret: emulator.secret,
    inbox: memoryInbox(),
    log: false,
    concurrency: 4,
    attempts: 3,
  });
  const metrics = prometheusMetrics(receiver);
  const startedAt = Date.now() / 1_000;
  const elapsed = (): number => (Date.now() / 1_000 - startedAt) / SECONDS;
  /** What is called is slow for a while. */
  const isSlow = (): boolean => elapsed() > 0.4 && elapsed() < 0.65;
  receiver.on("email", async () => {
    await sleep(isSlow() ? 400 + Math.random() * 400 : 5 + Math.random() * 60);
    if (Math.random() < (isSlow() ? 0.08 : 0.01)) throw new Error("no");
    if (Math.random() < 0.002) throw new GiveUp("never");
  });
  receiver.on("email", () => sleep(Math.random() * 20), { consumer: "search" });
  await receiver.start();
  const listener = nodeReceiver(receiver, { path: "/webhooks" });
  const server = createServer((req, res) => {
    if (req.url !== "/metrics") return listener(req, res);
    void metrics.text().then((text) => res.writeHead(200, { "Content-Type": metrics.contentType }).end(text));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const at = port + 1;
  writeFileSync(
    join(folder, "prometheus.yml"),
    `global: { scrape_interval: ${STEP}s }\nscrape_configs: [{ job_name: mail, static_configs: [{ targets: ["127.0.0.1:${port}"] }] }]\n`,
  );
  const prometheus = spawn(
    "prometheus",
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${at}`,
    ],
    { stdio: "ignore" },
  );
  const account = await emulator.account();
  const id = await emulator.subscribe(account, "/email/messages", `http://127.0.0.1:${port}/webhooks`);
  while (elapsed() < 1) {
    emulator.fault(id, Math.random() < 0.03 ? "wrong-signature" : undefined);
    await account.receiveMail();
    await sleep(20 + 60 * (1 + Math.sin(elapsed() * 12)));
  }
  const result = new Map<Panel, readonly Line[]>();
  const end = Date.now() / 1_000;
  for (const panel of panels) {
    const lines: Line[] = [];
    for (const { expr, legendFormat } of panel.targets) {
      const query = expr.replaceAll("$__rate_interval", "20s").replaceAll("$job", ".+");
      const range = `start=${startedAt + 10}&end=${end}&step=${STEP}`;
      const answer = await fetch(
        `http://127.0.0.1:${at}/api/v1/query_range?query=${encodeURIComponent(query)}&${range}`,
      );
      const { data } = (await answer.json()) as {
        data: { result: readonly { metric: Record<string, string>; values: readonly [number, string][] }[] };
      };
      for (const { metric, values } of data.result)
        lines.push({
          name: legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label: string) =>
            label === "instance" ? "a" : (metric[label] ?? ""),
          ),
          points: values
            .map(([time, value]): [number, number] => [time - startedAt, Number(value)])
            .filter(([, value]) => Number.isFinite(value)),
        });
    }
    result.set(panel, lines);
  }
  prometheus.kill();
  await once(prometheus, "exit");
  server.close();
  await receiver.close({ drainMs: 0 });
  await emulator.close();
  rmSync(folder, { recursive: true, force: true });
  return result;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

function draw(all: ReadonlyMap<Panel, readonly Line[]>): string {
  const UNIT = { x: 50, y: 30 };
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * UNIT.y;
  const boxes = [...all].map(([panel, lines]) => {
    const { x, y, w, h } = panel.gridPos;
    const size = { w: w * UNIT.x - 8, h: h * UNIT.y - 8 };
    const inner = panel.type === "stat" ? stat(panel, lines, size) : chart(panel, lines, size);
    return `<g transform="translate(${x * UNIT.x + 4} ${y * UNIT.y + 4})"><rect width="${size.w}" height="${size.h}" rx="3" fill="#181b1f" stroke="#2c3235"/><text x="10" y="20" fill="#d8d9da" font-weight="bold">${escape(panel.title)}</text>${inner}</g>`;
  });
  const width = 24 * UNIT.x;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="Verdana, DejaVu Sans, sans-serif" font-size="12">
<title>The board, drawn from a run that Prometheus scraped: handlers are slow for a while</title>
<rect width="${width}" height="${height}" fill="#111217"/>
${boxes.join("\n")}
</svg>
`;
}

type Size = { readonly w: number; readonly h: number };

function stat({ fieldConfig }: Panel, lines: readonly Line[], { w, h }: Size): string {
  const last = lines[0]?.points.at(-1)?.[1];
  const text = last === undefined ? "none" : toText(last, fieldConfig.defaults.unit);
  return `<text x="${w / 2}" y="${h / 2 + 26}" fill="#73bf69" font-size="34" text-anchor="middle">${text}</text>`;
}

function chart({ fieldConfig }: Panel, lines: readonly Line[], { w, h }: Size): string {
  const left = 56;
  const [top, bottom, right] = [34, h - 42, w - 12];
  const most = (Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value)), 0) || 1) * 1.08;
  const toX = (second: number): number => left + ((right - left) * (second - 10)) / (SECONDS - 10);
  const toY = (value: number): number => bottom - ((bottom - top) * value) / most;
  const grid = [0, 0.5, 1].map((share) => {
    const y = toY((most * share) / 1.08).toFixed(1);
    return `<path d="M${left} ${y}H${right}" stroke="#2c3235"/><text x="${left - 6}" y="${Number(y) + 4}" fill="#8e8e8e" font-size="10" text-anchor="end">${toText((most * share) / 1.08, fieldConfig.defaults.unit)}</text>`;
  });
  let x = left;
  const curves = lines.slice(0, COLORS.length).map(({ name, points }, index) => {
    const at = points.map(([second, value]) => `${toX(second).toFixed(1)} ${toY(value).toFixed(1)}`).join("L");
    const legend = `<rect x="${x}" y="${h - 20}" width="12" height="3" fill="${COLORS[index]}"/><text x="${x + 16}" y="${h - 14}" fill="#c7d0d9" font-size="10">${escape(name)}</text>`;
    x += 30 + name.length * 6.4;
    return `<path d="M${at}" fill="none" stroke="${COLORS[index]}" stroke-width="1.5"/>${x > w ? "" : legend}`;
  });
  const empty =
    lines.length === 0 ? `<text x="${w / 2}" y="${h / 2}" fill="#8e8e8e" text-anchor="middle">none</text>` : "";
  return grid.join("") + curves.join("") + empty;
}

function toText(value: number, unit: string): string {
  if (unit === "s") return value < 1 ? `${short(value * 1_000)} ms` : `${short(value)} s`;
  if (unit === "reqps" || unit === "ops") return `${short(value)}/s`;
  if (unit === "bytes") return value >= 1_024 ? `${short(value / 1_024)} KiB` : `${short(value)} B`;
  return short(value);
}

function short(number: number): string {
  return String(Number(number.toPrecision(3)));
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
