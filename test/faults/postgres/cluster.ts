import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { createPostgresInbox } from "../../../adapters/inbox/postgres/postgres-inbox.ts";
import { toLogger } from "../../../src/logger.ts";
import { systemClock } from "../../../src/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { send } from "../../support/http.ts";
import { startPgBouncer, startPostgres, type PostgresServer } from "../../support/postgres.ts";
import { signedHeaders } from "../../support/sign.ts";
import { makeDelivery, type Kind } from "../matrix/deliveries.ts";
import { sleepMs } from "../matrix/fleet.ts";
import { report } from "../matrix/rounds.ts";
import { checkRuns, type Findings, type Life, type Sent } from "./check-runs.ts";
import { readJournal } from "./journal.ts";
import type { HandlerName, ProcessOptions } from "./process-program.ts";

/** A process of a row. */
interface Member {
  readonly instance: string;
  readonly works: boolean;
  /** Undefined before it listens and after it ended. */
  port(): number | undefined;
  alive(): boolean;
  err(): string;
  signal(signal: NodeJS.Signals): void;
  readonly ended: Promise<void>;
}

export interface ClusterOptions {
  /** Through PgBouncer in transaction mode. @default false */
  readonly pooled?: boolean;
  /** @default 5_000 */
  readonly leaseMs?: number;
}

/** Processes on a PostgreSQL server of their own, and a service that sends to them. */
export interface Cluster {
  readonly server: PostgresServer;
  /** Straight to the server. */
  readonly sql: pg.Pool;
  start(options?: Partial<Pick<ProcessOptions, "works" | "handles">>): Member;
  living(): readonly Member[];
  /** Starts processes until so many work and so many only receive. */
  fill(workers: number, receivers: number): void;
  anyOf(members?: readonly Member[]): Member;
  /** Sends to so many lanes, each of which waits for its answers. Resolves when all processes take requests. */
  load(lanes: number): Promise<void>;
  /** Resolves when so many processes take requests. */
  listening(count: number): Promise<void>;
  /** Resolves when so many workers live. */
  working(workers: number): Promise<void>;
  /** Resolves when so many work, each on its share. */
  shared(workers: number): Promise<void>;
  /** Milliseconds until the last delivery was begun that was acknowledged from a time on until 1 s after it, in which a worker died. */
  worstDelay(since: number): Promise<number>;
  acked(): number;
  /** Resolves when so many more are acknowledged. */
  progress(more?: number): Promise<void>;
  /** Sends no more, waits until nothing is open, ends the processes, and checks what they did. */
  finish(row: string, tried: Readonly<Record<string, unknown>>): Promise<Findings & { readonly delays: Delays }>;
  /** As \`finish\`, for a cluster that may never get everything done. */
  giveUp(waitMs: number): Promise<Findings>;
}

/** Milliseconds from the answer to the handler's start, of first runs. */
interface Delays {
  readonly worst: number;
  readonly median: number;
}

const SECRET = "a signing secret";
const PROGRAM = join(import.meta.dirname, "process-program.ts");
const EVENTS: readonly HandlerName[] = ["email", "contact.changes", "calendarEvent", "tracking"];
const KINDS: readonly Kind[] = ["email", "email", "contact", "calendar", "tracking"];
const DAY_MS = 24 * 60 * 60 * 1_000;
/** A suspended process never answers. */
const PATIENCE_MS = 8_000;

/** Who works from when to when, by the server's clock. */
const AUDIT = `
create table public.life (worker bigint primary key, instance text, born_at timestamptz, fenced_at timestamptz);
create function public.note_life() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then insert into public.life values (new.id, current_setting('application_name'), clock_timestamp(), null);
  elsif old.alive and not new.alive then update public.life set fenced_at = clock_timestamp() where worker = new.id;
  end if;
  return null;
end $$;
create table public.settled (job bigint, instance text, at timestamptz);
create function public.note_settled() returns trigger language plpgsql as $$
begin
  insert into public.settled values (old.id, current_setting('application_name'), clock_timestamp());
  return null;
end $$;
create trigger note_settled after delete on hookline.job for each row execute function public.note_settled();
create trigger note_life after insert or update of alive on hookline.worker for each row execute function public.note_life();`;

export async function createCluster({ pooled = false, leaseMs = 5_000 }: ClusterOptions = {}): Promise<Cluster> {
  const server = await startPostgres();
  onTestFinished(server.remove);
  const pooler = pooled ? await startPgBouncer({ to: server.connectionString, poolMode: "transaction" }) : undefined;
  if (pooler !== undefined) onTestFinished(pooler.remove);
  const { connectionString } = pooler ?? server;
  const folder = mkdtempSync(join(tmpdir(), "hookline-chaos-"));
  const journal = join(folder, "journal");
  const sql = new pg.Pool({ connectionString: server.connectionString, max: 2 });
  sql.on("error", () => {});
  await makeSchema(server.connectionString);
  await sql.query(AUDIT);

  const all: Member[] = [];
  const sent: Sent[] = [];
  const loops: Promise<void>[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 512 });
  let isSending = true;
  let ackedCount = 0;
  const answers = new Map<number, number>();
  onTestFinished(async () => {
    isSending = false;
    for (const member of all) member.signal("SIGKILL");
    await Promise.all(all.map(({ ended }) => ended));
    agent.destroy();
    await sql.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const living = (): readonly Member[] => all.filter((member) => member.alive());

  async function offer(body: string): Promise<boolean> {
    const ports = living().flatMap((member) => member.port() ?? []);
    const to = ports[Math.floor(Math.random() * ports.length)];
    if (to === undefined) return false;
    const asked = send(`http://127.0.0.1:${to}/hooks`, {
      headers: signedHeaders(body, { secret: SECRET }),
      body,
      agent,
    });
    const status = await Promise.race([
      asked.then(
        (answer) => answer.status,
        () => 0,
      ),
      later(PATIENCE_MS, 0, { ref: false }),
    ]);
    answers.set(status, (answers.get(status) ?? 0) + 1);
    return status === 200;
  }

  async function lane(number: number): Promise<void> {
    const kind = KINDS[number % KINDS.length] as Kind;
    while (isSending) {
      if (!living().some((member) => member.port() !== undefined)) {
        await sleepMs(20);
        continue;
      }
      const does = Math.random() < 0.03 ? "fail" : undefined;
      const entries = Math.random() < 0.1 ? 3 : 1;
      const delivery = makeDelivery(kind, { lane: number, entries, ...(does === undefined ? {} : { does }) });
      const one: Sent = { lane: String(number), names: delivery.entries.map(({ name }) => name), ackedAt: undefined };
      sent.push(one);
      // Other events would be other jobs if they were sent again.
      const isUnique = delivery.entries.every(({ unique }) => unique);
      for (;;) {
        if (await offer(delivery.body)) {
          one.ackedAt = Date.now();
          ackedCount += 1;
          break;
        }
        await sleepMs(20, 200);
        if (!isUnique || !isSending) break;
      }
      await sleepMs(0, 80);
    }
  }

  function start({ works = true, handles = EVENTS }: Parameters<Cluster["start"]>[0] = {}): Member {
    const instance = String(all.length + 1);
    const options: ProcessOptions = {
      connectionString,
      directConnectionString: undefined,
      instance,
      journal,
      secret: SECRET,
      works,
      leaseMs,
      handles,
    };
    const args = ["--conditions=hookline-source", PROGRAM, JSON.stringify(options)];
    const child: ChildProcess = spawn(process.execPath, args, {
      env: { PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const texts = { out: "", err: "" };
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (texts.out += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (texts.err = (texts.err + text).slice(-20_000)));
    let alive = true;
    const ended = once(child, "close").then(() => {});
    child.once("exit", () => (alive = false));
    const member: Member = {
      instance,
      works,
      port: () => (alive ? Number(/^ready (\d+)/m.exec(texts.out)?.[1]) || undefined : undefined),
      alive: () => alive,
      err: () => texts.err,
      signal: (signal) => void child.kill(signal),
      ended,
    };
    all.push(member);
    return member;
  }

  async function listening(count: number): Promise<void> {
    await eventually(() => {
      const ready = living().filter((member) => member.port() !== undefined);
      expect(ready.length, errorsOf(living())).toBeGreaterThanOrEqual(count);
    });
  }

  async function openCount(): Promise<number> {
    const { rows } = await sql.query<{ open: number }>(
      "select ((select count(*) from hookline.job) + (select count(*) from hookline.unexpanded))::int as open",
    );
    return rows[0]?.open ?? 0;
  }

  /** However long a backlog is that workers which are killed all the time have left: it goes down. */
  async function drained(): Promise<void> {
    for (let open = Infinity; open > 0;) {
      const before = open;
      open = await eventually(async () => {
        const now = await openCount();
        expect(now).toBeLessThan(before);
        return now;
      }, 30_000);
    }
  }

  async function stop(): Promise<void> {
    for (const member of living()) {
      await eventually(() => expect(member.port() === undefined && member.alive(), member.err()).toBe(false));
      member.signal("SIGCONT");
      member.signal("SIGTERM");
    }
    await Promise.all(all.map(({ ended }) => ended));
  }

  async function check(open: number) {
    const lives = await sql.query<{ instance: string; born: number; fenced: number | null }>(
      "select instance, floor(extract(epoch from born_at) * 1000)::float8 as born, floor(extract(epoch from fenced_at) * 1000)::float8 as fenced from public.life",
    );
    const settled = await sql.query<{ job: number; instance: string; at: number }>(
      "select job::float8 as job, instance, floor(extract(epoch from at) * 1000)::float8 as at from public.settled",
    );
    const dead = await deadNames(sql);
    const evidence = {
      sent,
      journal: readJournal(journal),
      lives: lives.rows.map(({ instance, born, fenced }): Life => ({
        instance: instance.replace("chaos-", ""),
        bornAt: born,
        fencedAt: fenced ?? undefined,
      })),
      settled: settled.rows.map(({ job, instance, at }) => ({ job, instance: instance.replace("chaos-", ""), at })),
      dead,
      open,
    };
    return { findings: checkRuns(evidence), lives: lives.rows.length, dead: dead.size, delays: delaysOf(evidence) };
  }

  return {
    server,
    sql,
    start,
    living,
    fill(workers, receivers) {
      const of = (works: boolean): number => living().filter((member) => member.works === works).length;
      while (of(true) < workers) start();
      while (of(false) < receivers) start({ works: false });
    },
    anyOf(members = living()) {
      return members[Math.floor(Math.random() * members.length)] as Member;
    },
    async load(lanes) {
      await listening(living().length);
      for (let number = 1; number <= lanes; number += 1) loops.push(lane(number));
    },
    listening,
    async working(workers) {
      await eventually(async () => {
        const { rows } = await sql.query("select from hookline.worker where alive and beat > 0");
        expect(rows.length, errorsOf(living())).toBeGreaterThanOrEqual(workers);
      });
    },
    async shared(workers) {
      await eventually(async () => {
        const { rows } = await sql.query(
          "select owner from hookline.shard join hookline.worker on worker.id = owner and alive where shard.id < 64 group by owner having count(*) >= 64 / $1::int",
          [workers],
        );
        expect(rows, errorsOf(living())).toHaveLength(workers);
      });
    },
    async worstDelay(since) {
      await later(1_000);
      const until = Date.now();
      const names = new Set(
        sent.filter(({ ackedAt = 0 }) => ackedAt >= since && ackedAt <= until).flatMap((one) => one.names),
      );
      return eventually(() => {
        const begun = readJournal(journal).filter((line) => line.what === "claim");
        const seen = new Set(begun.flatMap((line) => line.names));
        expect([...names].every((name) => seen.has(name))).toBe(true);
        return delaysOf({ sent: sent.filter((one) => one.names.some((name) => names.has(name))), journal: begun })
          .worst;
      });
    },
    acked: () => ackedCount,
    async progress(more = 1) {
      const wanted = ackedCount + more;
      await eventually(() => expect(ackedCount, errorsOf(living())).toBeGreaterThanOrEqual(wanted));
    },
    async finish(row, tried) {
      isSending = false;
      await Promise.all(loops);
      const startedAt = Date.now();
      await drained().catch(async (error: unknown) => {
        throw new Error(`${await stateOf(sql)}\n${errorsOf(living())}`, { cause: error });
      });
      const drainMs = Date.now() - startedAt;
      await stop();
      const { findings, lives, dead, delays } = await check(await openCount());
      const { wrong, ...counts } = findings;
      report(row, {
        ...tried,
        sent: sent.length,
        acknowledged: ackedCount,
        answers: JSON.stringify(Object.fromEntries(answers)),
        lives,
        ...counts,
        dead,
        "drained in ms": drainMs,
        "worst delay ms": delays.worst,
        "median ms": delays.median,
        wrong: wrong.length,
        ...(wrong.length > 0 && { first: wrong.slice(0, 5).join("\n") }),
      });
      expect(wrong.slice(0, 20)).toEqual([]);
      return { ...findings, delays };
    },
    async giveUp(waitMs) {
      isSending = false;
      await Promise.all(loops);
      const until = performance.now() + waitMs;
      while ((await openCount()) > 0 && performance.now() < until) await later(100);
      const open = await openCount();
      await stop();
      return (await check(open)).findings;
    },
  };
}

async function makeSchema(connectionString: string): Promise<void> {
  const times = { keepDoneMs: DAY_MS, keepUnhandledMs: DAY_MS, keepDeadMs: Infinity, keepBodies: "retention" } as const;
  const connection = { connectionString };
  const inbox = createPostgresInbox({
    connection,
    schema: "hookline",
    migrate: true,
    leaseMs: 5_000,
    ...times,
    maxJobs: 1,
  });
  await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  await inbox.close();
}

async function deadNames(sql: pg.Pool): Promise<ReadonlySet<string>> {
  const { rows } = await sql.query<{ body: Buffer; entry: number }>(
    "select d.body, dead.entry from hookline.dead join hookline.delivery as d on d.id = dead.delivery",
  );
  return new Set(
    rows.map(
      ({ body, entry }) =>
        (JSON.parse(body.toString()) as { payloads: { name: string }[] }).payloads[entry]?.name ?? "",
    ),
  );
}

function delaysOf({
  sent,
  journal,
}: {
  readonly sent: readonly Sent[];
  readonly journal: ReturnType<typeof readJournal>;
}): Delays {
  const acked = new Map(sent.flatMap(({ names, ackedAt }) => names.map((name) => [name, ackedAt] as const)));
  const seen = new Set<string>();
  const delays: number[] = [];
  for (const line of journal) {
    if (line.what !== "claim") continue;
    for (const name of line.names) {
      const at = acked.get(name);
      if (at !== undefined && !seen.has(name)) delays.push(line.at - at);
      seen.add(name);
    }
  }
  const sorted = delays.toSorted((a, b) => a - b);
  return { worst: sorted.at(-1) ?? 0, median: sorted[Math.floor(sorted.length / 2)] ?? 0 };
}

function errorsOf(members: readonly Member[]): string {
  return members.map((member) => `${member.instance}:\n${member.err().slice(-2_000)}`).join("\n");
}

/** What is open, and whose it is. */
async function stateOf(sql: pg.Pool): Promise<string> {
  const { rows } = await sql.query(
    `select j.shard, j.id, s.owner, w.alive, w.beat, l.instance, w.running @> array[j.id] as marked, j.lane, j.attempts, j.deaths, j.run_at, j.writer
     from hookline.job as j join hookline.shard as s on s.id = j.shard left join hookline.worker as w on w.id = s.owner left join public.life as l on l.worker = w.id
     order by j.lane, j.id limit 50`,
  );
  const lives = await sql.query(
    "select w.id, w.alive, w.beat, l.* from hookline.worker as w left join public.life as l on l.worker = w.id order by 1",
  );
  return [...rows, ...lives.rows].map((row) => JSON.stringify(row)).join("\n");
}
