import { createReceiver, type EventName, type Receiver } from "hookline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createPool, type Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

const SECRET = "a signing secret";

/** A process of one version of an application. */
interface Pod {
  readonly receiver: Receiver;
  /** Ids of the changes that its handlers got. */
  readonly seen: string[];
  readonly attempts: number[];
  send(resource: "email" | "contact", ...ids: readonly string[]): Promise<void>;
}

let database: TestDatabase;
let pool: Pool;
let pods: Pod[];

beforeEach(async () => {
  database = await newDatabase();
  pool = createPool({ connection: { ...database }, max: 1, applicationName: "hookline test" });
  pods = [];
});
afterEach(async () => {
  await Promise.all(pods.map(({ receiver }) => receiver.close({ drainMs: 0 })));
  await pool.close();
  await database.drop();
});

/** Works on changes of these names: those whose ids begin with the same letter are in one lane. */
const deploy = (...names: readonly Handled[]): Promise<Pod> => deployWith(laneOf, names);

type Handled = EventName | `${EventName}@search`;

async function deployWith(lane: "record" | typeof laneOf, names: readonly Handled[]): Promise<Pod> {
  const receiver = createReceiver({
    secret: SECRET,
    inbox: openDatabase(database.connectionString),
    log: logRecorder().logger,
  });
  const seen: string[] = [];
  const attempts: number[] = [];
  receiver.use((_, ctx, next) => (attempts.push(ctx.attempt), next()));
  for (const name of names) {
    const [event, consumer] = name.split("@") as [EventName, string?];
    const handler = (given: unknown): void => void seen.push((given as { readonly id: string }).id);
    receiver.on(event, handler, { lane, ...(consumer === undefined ? {} : { consumer }) });
  }
  await receiver.start();
  const pod: Pod = {
    receiver,
    seen,
    attempts,
    send: (resource, ...ids) => sendTo(receiver, resource, ids),
  };
  pods.push(pod);
  return pod;
}

async function sendTo(receiver: Receiver, resource: "email" | "contact", ids: readonly string[]): Promise<void> {
  const body = bodyOf({
    resource: resource === "email" ? "/email/messages" : "/contacts",
    payloads: ids.map((id) => change(id)),
  });
  const answer = await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
  expect(answer.status).toBe(200);
}

function laneOf(event: unknown): string {
  return (event as { readonly id: string }).id.charAt(0);
}

const LANES = "abcdefghijklmnopqrst".split("");

/** Changes of each lane, numbered, through one pod after the other. */
async function sendAll(resource: "email" | "contact", count: number, from = 0): Promise<void> {
  for (let round = from; round < from + count; round += 1)
    for (const [place, lane] of LANES.entries())
      await (pods[(round + place) % pods.length] as Pod).send(resource, `${lane}${round}`);
}

async function counts(): Promise<{ readonly open: number; readonly unhandled: number }> {
  const [row] = await pool.query<{ open: number; unhandled: number }>(
    `select (select count(*)::int from hookline.job) + (select count(*)::int from hookline.unexpanded) as open, (select count(*)::int from hookline.unhandled) as unhandled`,
  );
  return row ?? { open: 0, unhandled: 0 };
}

async function allEnded(unhandled = 0): Promise<void> {
  await eventually(async () => expect(await counts()).toEqual({ open: 0, unhandled }));
}

/** An older version did not ask who else is there: what was stored is unhandled beside all that became of it. */
async function leaveAsAnOlderVersion(): Promise<void> {
  await pool.query(
    `insert into hookline.unhandled select nextval('hookline.block') * 4096, day, id, 0, 'contact.updated', null, account, subscription, received_at, null, 0, null, 0 from hookline.delivery`,
  );
}

/** Each was handled once, and those of a lane in their order. */
function expectInOrder(seen: readonly string[], count: number): void {
  for (const lane of LANES)
    expect(seen.filter((id) => id.startsWith(lane))).toEqual(
      Array.from({ length: count }, (_, round) => `${lane}${round}`),
    );
}

/** The owner of the expansion, by the order of the pods. */
async function expander(): Promise<number> {
  const [row] = await pool.query<{ place: number }>(
    `select count(*)::int as place from hookline.worker as w where w.alive and w.id < (select owner from hookline.shard where id = 64)`,
  );
  return row?.place ?? -1;
}

describe("while an old pod and a new one work", () => {
  test("the new one, which expands, gets all that only it has handlers for, in order", async () => {
    const [next] = [await deploy("email", "contact"), await deploy("email")];
    await sendAll("contact", 6);
    await allEnded();
    expectInOrder(next.seen, 6);
    expect(await expander()).toBe(0);
  });

  test("the new one gets it where the old one was first, and leaves the expansion to it", async () => {
    const old = await deploy("email");
    await old.send("email", "z0");
    const next = await deploy("email", "contact");
    await sendAll("contact", 6);
    await allEnded();
    expectInOrder(next.seen, 6);
    await eventually(async () => expect(await expander()).toBe(1));
  });

  test("a change is not skipped for good, because the old one handles others of its family", async () => {
    await deploy("email.created");
    const next = await deploy("email.created", "email.updated");
    await sendAll("email", 3);
    await allEnded();
    expectInOrder(next.seen, 3);
  });

  test("the old one goes on with what both have handlers for", async () => {
    const [old, next] = [await deploy("email"), await deploy("email", "contact")];
    await eventually(async () => {
      await sendAll("email", 1);
      expect(Math.min(old.seen.length, next.seen.length)).toBeGreaterThan(0);
    });
    await allEnded();
  });

  test("what only the old one has handlers for is its, and nothing is unhandled until it ends", async () => {
    const [old, next] = [await deploy("email"), await deploy("contact")];
    await sendAll("email", 4);
    await sendAll("contact", 4);
    await allEnded();
    expectInOrder(old.seen, 4);
    expectInOrder(next.seen, 4);
    await old.receiver.close();
    await next.send("email", "z0");
    await allEnded(1);
  });

  test("a job that was passed on has no attempt more", async () => {
    const [old, next] = [await deploy("email"), await deploy("email", "contact")];
    await sendAll("contact", 2);
    await allEnded();
    expect([old.seen, new Set(next.attempts)]).toEqual([[], new Set([1])]);
    expectInOrder(next.seen, 2);
  });
});

describe("what no live worker has a handler for", () => {
  test("is unhandled, also where one had it that ended, and is handled by the next that has", async () => {
    const old = await deploy("email");
    await old.send("contact", "a0");
    await allEnded(1);
    const next = await deploy("contact", "email");
    await allEnded();
    expect(next.seen).toEqual(["a0"]);
    await next.receiver.close();
    pods = [old];
    await old.send("contact", "a1");
    await allEnded(1);
    const again = await deploy("contact", "email");
    await allEnded();
    expect(again.seen).toEqual(["a1"]);
  });

  test("is handled by a new pod that has it, while one goes on that has what the new one lacks", async () => {
    const old = await deploy("email");
    await old.send("contact", "a0");
    await allEnded(1);
    const next = await deploy("contact");
    await allEnded();
    expect([next.seen, await expander()]).toEqual([["a0"], 0]);
  });

  test("goes to all consumers of the one that expands, though a new pod with one of them has what that one lacks", async () => {
    const old = await deploy("contact", "contact@search");
    await old.send("contact", "a0");
    await allEnded();
    await leaveAsAnOlderVersion();
    const next = await deploy("contact", "email");
    await allEnded();
    expect([...old.seen, ...next.seen]).toEqual(["a0", "a0", "a0", "a0"]);
  });

  test("is looked at again when an old pod has ended", async () => {
    const [old, next] = [await deploy("email"), await deploy("email", "contact")];
    await eventually(async () => expect(await expander()).toBe(1));
    await next.send("contact", "a0");
    await allEnded();
    await leaveAsAnOlderVersion();
    await old.receiver.close();
    await allEnded();
    expect(next.seen).toEqual(["a0", "a0"]);
  });
});

test("what only another pod has a handler for is not skipped where it came with what that one lacks", async () => {
  const old = await deployWith("record", ["contact.created", "contact.deleted"]);
  const next = await deployWith("record", ["contact.created", "contact.updated"]);
  const payloads = ["updated", "deleted"].map((changeType) => ({ id: changeType, changeType }));
  const body = bodyOf({ resource: "/contacts", payloads });
  const answer = await old.receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
  expect(answer.status).toBe(200);
  await eventually(() => expect(old.seen).toEqual(["deleted"]));
  await old.receiver.close();
  await eventually(() => expect(next.seen).toEqual(["updated"]));
});

test("of two that each have what the other lacks, each expands all that is its own before it passes the rest on", async () => {
  pods = [await deployWith("record", ["email"]), await deployWith("record", ["contact"])];
  const changes = async (): Promise<number> => {
    const [row] = await pool.query<{ count: number }>("select count(*)::int as count from hookline.owners");
    return row?.count ?? -1;
  };
  await pool.query(`
    create table hookline.owners (id bigint);
    create function hookline.note_owner() returns trigger language plpgsql as $$ begin insert into hookline.owners values (new.owner); return new; end $$;
    create trigger note_owner after update of owner on hookline.shard for each row when (new.id = 64 and new.owner is not null and new.owner is distinct from old.owner) execute function hookline.note_owner()`);
  const ids = Array.from({ length: 40 }, (_, nth) => `${nth}`);
  const receiving = createReceiver({ secret: SECRET, inbox: openDatabase(database.connectionString), log: false });
  // Until all are there, none is expanded.
  await pool.transaction(async (queries) => {
    await queries.query("select from hookline.shard where id = 64 for update");
    for (const id of ids) for (const resource of ["email", "contact"] as const) await sendTo(receiving, resource, [id]);
  });
  await receiving.close();
  await allEnded();
  for (const { seen } of pods) expect(seen.toSorted()).toEqual(ids.toSorted());
  expect(await changes()).toBeLessThan(20);
});

describe("a deploy that is taken back", () => {
  /** How many shards each worker has, the most first. */
  async function shares(): Promise<readonly number[]> {
    const rows = await pool.query<{ count: number }>(
      "select count(*)::int as count from hookline.shard where id < 64 group by owner order by 1 desc",
    );
    return rows.map(({ count }) => count);
  }

  /** Gives all shards to a pod of these handlers, by jobs that only it has a handler for. */
  async function takeAll(...names: readonly Handled[]): Promise<Pod> {
    const next = await deployWith("record", names);
    const equal = 64 / pods.length;
    await eventually(async () => expect(Math.max(...(await shares()))).toBe(Math.ceil(equal)));
    for (let round = 0; (await shares()).length > 1; round += 1) {
      await next.send("contact", ...Array.from({ length: 300 }, (_, nth) => `${round}-${nth}`));
      await allEnded();
    }
    return next;
  }

  test("leaves the shards to all that were there before, and to those that come", async () => {
    for (let old = 0; old < 3; old += 1) await deployWith("record", ["email"]);
    const next = await takeAll("email", "contact");
    await next.receiver.close();
    await eventually(async () => expect(await shares()).toMatchObject({ length: 3, 0: 22 }));
    await deployWith("record", ["email"]);
    await eventually(async () => expect(await shares()).toEqual([16, 16, 16, 16]));
  });

  test("leaves them to all also where each lacks what another has", async () => {
    for (const name of ["email", "contact"] as const) await deployWith("record", [name]);
    const next = await takeAll("email", "contact", "contact@search");
    await next.receiver.close();
    await eventually(async () => expect(await shares()).toEqual([32, 32]));
  });
});
