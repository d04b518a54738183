import { setTimeout as sleep } from "node:timers/promises";
import { checkAnswers } from "../check-answers.ts";
import { VERIFY_ONLY, type Contender } from "../contenders.ts";
import { toFigure, toSample, type Sample } from "../figures.ts";
import { runLoad } from "../load.ts";
import type { Cores } from "../machine.ts";
import { startQueueServer } from "../postgres/queue-server.ts";
import { startServer, type Server, type ServerOptions } from "../server.ts";
import type { SigningName } from "../signing.ts";
import { offerLoad, type OpenLoad } from "./open-load.ts";
import type { DurableRow } from "./rows.ts";

/** Of the row's server and of verify only. */
interface Both<T> {
  readonly own: T;
  readonly baseline: T;
}

/** In slices that alternate. */
export type Pairs = Both<readonly Sample[]>;

export interface RowMeasured {
  /** Seconds 2 to 7 of the process. */
  readonly cold: Pairs;
  /** From second 20 on. */
  readonly warm: Pairs;
  /** At half of each one's own warm requests/s, whatever the answers do; in slices, too. */
  readonly half: Both<readonly OpenLoad[]>;
}

/** Seconds. */
interface Times {
  readonly coldFrom: number;
  readonly coldSlice: number;
  readonly warmFrom: number;
  readonly warmSlice: number;
  readonly openSlice: number;
}

/** V8 compiles for some 20 s under load; a deploy sees the seconds before. */
const FULL: Times = { coldFrom: 2, coldSlice: 1, warmFrom: 20, warmSlice: 4, openSlice: 3 };
const QUICK: Times = { coldFrom: 0.4, coldSlice: 0.2, warmFrom: 3, warmSlice: 0.5, openSlice: 0.5 };
const COLD_SLICES = 5;
const OPEN_SLICES = 5;
const SETTLE_MS = 100;
const QUICK_SLICES = 3;
/** For what was answered and waits for its handler at the end. */
const DRAIN_MS = 60_000;

export interface RowOptions {
  readonly quick: boolean;
  readonly cores: Cores | undefined;
  readonly scriptOf: (signing: SigningName) => string;
}

/**
 * Measures one server beside verify only on the same core. Their slices alternate, so that drift of the machine cancels.
 * @throws Error if a request is not answered 200
 */
export async function measureRow(row: DurableRow, { quick, cores, scriptOf }: RowOptions): Promise<RowMeasured> {
  const times = quick ? QUICK : FULL;
  const { connections, syncMs, service } = row;

  async function load({ port }: Server, seconds: number) {
    return runLoad({ port, script: scriptOf("service"), seconds, connections, core: cores?.client });
  }

  async function measureSlice(server: Server, seconds: number): Promise<Sample> {
    const before = await server.usage();
    const loaded = await load(server, seconds);
    return toSample(loaded, before, await server.usage());
  }

  async function measurePairs(both: Both<Server>, slices: number, seconds: number): Promise<Pairs> {
    return alternate(both, slices, (server) => measureSlice(server, seconds));
  }

  async function offerHalf(both: Both<Server>, pairs: Pairs): Promise<RowMeasured["half"]> {
    const half = (samples: readonly Sample[]): number => toFigure(samples.map((sample) => sample.perSecond)).median / 2;
    const rates = new Map([
      [both.own, half(pairs.own)],
      [both.baseline, half(pairs.baseline)],
    ]);
    const core = cores?.client;
    return alternate(both, quick ? QUICK_SLICES : OPEN_SLICES, (server) =>
      offerLoad({ port: server.port, perSecond: rates.get(server) ?? Number.NaN, seconds: times.openSlice, core }),
    );
  }

  const servers: Server[] = [];
  async function start(contender: Contender, options: Omit<ServerOptions, "core"> = {}): Promise<Server> {
    const server = await startServer(contender, { core: cores?.server, ...options });
    servers.push(server);
    await checkAnswers(contender, server.port);
    return server;
  }

  const queue = service && (await startQueueServer(service));
  try {
    const baseline = await start(VERIFY_ONLY);
    await load(baseline, times.coldFrom);
    const own = await start(row, { syncMs, connection: queue?.connection });
    const both = { own, baseline };
    await load(own, times.coldFrom);
    const cold = await measurePairs(both, COLD_SLICES, times.coldSlice);
    await load(own, times.warmFrom - times.coldFrom - COLD_SLICES * times.coldSlice);
    const warm = await measurePairs(both, quick ? QUICK_SLICES : row.slices, times.warmSlice);
    const half = await offerHalf(both, warm);
    await handlesAll(own);
    return { cold, warm, half };
  } finally {
    for (const server of servers) await server.stop();
    await queue?.remove();
  }
}

/** @throws Error if it has answered for what it does not handle */
async function handlesAll(server: Server): Promise<void> {
  const endsAt = performance.now() + DRAIN_MS;
  let { waiting = 0 } = await server.usage();
  while (waiting > 0 && performance.now() < endsAt) {
    await sleep(SETTLE_MS);
    ({ waiting = 0 } = await server.usage());
  }
  if (waiting > 0) throw new Error(`${waiting} deliveries were answered and not handled within ${DRAIN_MS} ms.`);
}

/** One server works, the other is paused, and vice versa. */
async function alternate<T>(
  { own, baseline }: Both<Server>,
  slices: number,
  measure: (server: Server) => Promise<T>,
): Promise<Both<readonly T[]>> {
  const measured: Both<T[]> = { own: [], baseline: [] };
  for (let slice = 0; slice < slices; slice += 1) {
    baseline.pause();
    measured.own.push(await measure(own));
    // wrk leaves requests in flight.
    await sleep(SETTLE_MS);
    own.pause();
    baseline.resume();
    measured.baseline.push(await measure(baseline));
    own.resume();
  }
  return measured;
}
