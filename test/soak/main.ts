import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { growthIn, HEADS, toCells, type Point } from "./growth.ts";
import { soak } from "./soak.ts";

const HELP = `Sends deliveries at a fixed rate through a receiver on an SQLite file whose clock runs fast, and says whether the file and the memory of both threads stay flat.

Usage: npm run test:soak -- [flags]

Flags:
  --deliveries N   Default: 1000000. Before some 100000 the file has not reached its size, and is not flat.
  --rate N         Deliveries a second, whatever the receiver does. Default: 3000.
  --folder PATH    Where the file is made. Default: the system's for temporary files.
  --help           Print this.
`;

/** Rows of the table. */
const POINTS = 20;
const WIDTH = 12;

const { values } = parseArgs({
  options: {
    deliveries: { type: "string", default: "1000000" },
    rate: { type: "string", default: "3000" },
    folder: { type: "string", default: tmpdir() },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(HELP);
else await run(Number(values.deliveries), Number(values.rate));

async function run(deliveries: number, perSecond: number): Promise<void> {
  if (!Number.isSafeInteger(deliveries) || deliveries < POINTS)
    throw new RangeError(`--deliveries got "${values.deliveries}", expected a whole number of at least ${POINTS}.`);
  if (!(perSecond > 0)) throw new RangeError(`--rate got "${values.rate}", expected a number above 0.`);
  const folder = mkdtempSync(join(values.folder, "hookline-soak-"));
  const points: Point[] = [];
  try {
    printRow(HEADS);
    for await (const point of soak({ file: join(folder, "inbox.db"), deliveries, perSecond, points: POINTS })) {
      points.push(point);
      printRow(toCells(point));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const climbs = growthIn(points);
  console.log(climbs.length === 0 ? "The file and the memory of both threads are flat." : climbs.join("\n"));
  if (climbs.length > 0) process.exitCode = 1;
}

function printRow(cells: readonly string[]): void {
  console.log(cells.map((cell) => cell.padStart(WIDTH)).join(""));
}
