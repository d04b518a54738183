import type { Claim, StorageError } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { createHandOver } from "./hand-over.ts";
import { createLanes, type Row } from "./lanes.ts";
import type { OtherWorkers } from "./other-workers.ts";
import { createRecentDeliveries } from "./recent-deliveries.ts";
import { createShardMemory } from "./shard-memory.ts";
import { createWorkSteps, type StepReply } from "./work-steps.ts";
import type { Over } from "./worker-log.ts";
import type { Life } from "./worker-claims.ts";

/** Between two heartbeats. */
export const BEAT_MS = 500;

export interface LifeDeps {
  /** When the server started that it is registered on. */
  readonly server: number;
  readonly ident: () => string;
  readonly pool: Pool;
  /** Of one connection. */
  readonly steps: Pool;
  readonly now: () => number;
  readonly maxJobs: number;
  /** Claims of earlier lives whose handlers run on. */
  readonly held: ReadonlyMap<Claim, readonly Row[]>;
  readonly pause: () => Promise<void>;
  readonly isOver: (life: Life) => boolean;
  readonly wake: () => void;
  readonly lost: (claims: readonly Claim[]) => void;
  readonly unexpanded: (life: Life, are: boolean) => void;
  readonly confirmed: (life: Life, reply: StepReply, sentAt: number) => void;
  readonly over: (life: Life, why: Over) => void;
  readonly failed: (error: StorageError) => void;
  readonly refused: (row: Row, to: "dead" | "removed", error: StorageError) => void;
}

/** What a worker has from its registration until it leaves or is taken for dead. Nothing of it is used again. */
export function createLife(id: number, others: OtherWorkers, deps: LifeDeps): Life {
  const { ident, pool, now } = deps;
  const lanes = createLanes(deps.held);
  const memory = createShardMemory({
    pool,
    ident,
    lanes,
    now,
    maxJobs: deps.maxJobs,
    isOver: () => deps.isOver(life),
    changed: deps.wake,
    unexpanded: (are) => deps.unexpanded(life, are),
    lost: deps.lost,
    server: deps.server,
    forgot: () => deps.over(life, "forgot"),
    read() {
      if (performance.now() - life.confirmedAt > BEAT_MS) void life.steps.beat();
    },
  });
  const steps = createWorkSteps({
    ident,
    pool: deps.steps,
    worker: id,
    server: deps.server,
    lanes,
    leaving: () => life.handOver.emptied,
    confirmed: (reply, sentAt) => deps.confirmed(life, reply, sentAt),
    over: (why) => deps.over(life, why),
    failed: deps.failed,
    refused: deps.refused,
    now,
    pause: deps.pause,
  });
  const life: Life = {
    id,
    lanes,
    recent: createRecentDeliveries(),
    stored: [],
    memory,
    steps,
    handOver: createHandOver({ memory, lanes, steps, now }),
    others,
    hasBegun: false,
    looksAt: "none",
    hasReopened: false,
    owned: new Set(),
    loadFailure: undefined,
    isDirty: true,
    following: undefined,
    hasUnexpanded: false,
    confirmedAt: performance.now(),
  };
  return life;
}
