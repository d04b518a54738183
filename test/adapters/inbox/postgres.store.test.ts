import { StorageError } from "hookline";
import { describe, expect, test } from "vitest";
import type { Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import { MOST_JOBS, type EncodedBatch } from "../../../adapters/inbox/postgres/store/encode-batch.ts";
import { createLossLog } from "../../../adapters/inbox/postgres/loss-log.ts";
import { createIncoming, type IncomingDeps } from "../../../adapters/inbox/postgres/store/store-deliveries.ts";
import { createWriter, type StoredBatch } from "../../../adapters/inbox/postgres/store/writer.ts";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { idsOf, statesOf } from "./postgres-rows.ts";
import { NOW, openTables } from "./postgres-tables.ts";

const STORED: StoredBatch = {
  writer: 1,
  base: 100,
  expanded: 0,
  repeated: [],
  made: [],
  duplicates: [],
  conflicts: [],
  oldest: null,
};

/** What takes deliveries in, with a server that answers as the test says. */
function incoming(answer: (batch: EncodedBatch) => Promise<StoredBatch>, parts: Partial<IncomingDeps> = {}) {
  const batches: EncodedBatch[] = [];
  const verbs = createIncoming({
    pool: undefined as never,
    ident: () => "hl",
    writer: {
      store(batch) {
        batches.push(batch);
        return answer(batch);
      },
      transaction: () => Promise.reject(new Error()),
      drained: async () => {},
    },
    worker: {
      hasRoom: () => false,
      expander: () => 1,
      remember() {},
      changed: async () => {},
      others: () => undefined,
      passExpander() {},
      expanded() {},
    },
    now: () => NOW,
    dedupeWindowMs: () => 0,
    noted() {},
    stored() {},
    loss: createLossLog(() => undefined),
    ...parts,
  });
  return { ...verbs, batches };
}

describe("stores of one process", () => {
  test("go into one commit as far as their bodies fit it, and the rest into the next", async () => {
    const filler = "x".repeat(2_000_000);
    const { store, batches } = incoming(async () => STORED);
    const stored = await Promise.all(["a", "b", "c"].map((id) => store([raw(mail([id], { filler }))])));
    expect(batches.map(({ at }) => at.length)).toEqual([2, 1]);
    expect(stored.flat().map((one) => "id" in one && one.id)).toEqual(["101", "102", "101"]);
  });

  test("are answered even where nobody expected the error, and so are those behind them", async () => {
    const { store } = incoming(async () => STORED);
    const [bad, good] = [raw(mail(["bad"], { source: 7 as unknown as string })), raw(mail(["good"]))];
    const refused = { code: "storage-failed", message: expect.stringMatching(/could not be stored. TypeError/) };
    expect(await store([bad])).toMatchObject([refused]);
    expect(await store([good, bad, good])).toMatchObject([{ id: "101" }, refused, { id: "101" }]);
  });

  test("are answered where what listens to them fails, and so are those behind them", async () => {
    const failures = [new TypeError("not a function")];
    const stored = (): void => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
    };
    const { store, batches } = incoming(async () => STORED, { stored });
    expect(await store([raw(mail(["a"])), raw(mail(["b"]))])).toMatchObject([
      { code: "storage-failed", message: expect.stringContaining("TypeError: not a function") },
      { code: "storage-failed" },
    ]);
    expect(await store([raw(mail(["c"]))])).toMatchObject([{ id: "101" }]);
    expect(batches).toHaveLength(2);
  });

  test("all fail where the server does, and the health checks hear of it", async () => {
    const heard: (StorageError | undefined)[] = [];
    const { store, batches } = incoming(
      () => Promise.reject(toStorageError(Object.assign(new Error("full"), { code: "53100" }), "statement")),
      { stored: (error) => void heard.push(error) },
    );
    expect(await store([raw(mail(["a"])), raw(mail(["b"]))])).toMatchObject([
      { code: "disk-full" },
      { code: "disk-full" },
    ]);
    expect([batches.length, heard]).toMatchObject([1, [{ code: "disk-full" }]]);
  });
});

describe("expansions", () => {
  const long = (id: string) => {
    const entries = Array.from({ length: MOST_JOBS - 100 }, (_, index) => `${id} ${index}`);
    return { id, events: mail(entries).events, cursor: undefined };
  };

  test("with more jobs than a commit has ids for are made in several, in their order", async () => {
    const { expand, batches } = incoming(async () => ({ ...STORED, made: [0] }));
    expect(await expand([long("1"), long("2")])).toEqual([
      { duplicates: [], conflicts: [] },
      { duplicates: [], conflicts: [] },
    ]);
    expect(batches.map(({ batch }) => batch["expansions"])).toMatchObject([[{ delivery: 1 }], [{ delivery: 2 }]]);
  });

  test("are left to another process once that one expands", async () => {
    const { expand, batches } = incoming(async () => ({ ...STORED, fenced: true }));
    expect(await expand([long("1"), long("2")])).toEqual([undefined, undefined]);
    expect(batches).toHaveLength(1);
  });

  test("without an event end their delivery, and make no job", async () => {
    const tables = await openTables();
    const { jobs, store, expand } = tables.join();
    const worker = await tables.work();
    const [id = ""] = await store(raw(mail(["a"])));
    await expand(worker.id, { id, events: [], cursor: undefined });
    expect(await tables.pool.query(`select from ${tables.ident}.unexpanded`)).toEqual([]);
    expect(await idsOf(jobs)).toEqual([]);
  });
});

describe("a process whose row was removed since it was idle for long", () => {
  test("stores and replays with another one", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    await store(mail(["a"]));
    const [id = ""] = await idsOf(jobs);
    await worker.step([], { [id]: "dead" });
    await tables.pool.query(`delete from ${tables.ident}.writer`);
    expect(await jobs.replay({ ids: [id] })).toBe(1);
    await tables.pool.query(`delete from ${tables.ident}.writer`);
    await store(mail(["b"]));
    expect(await statesOf(jobs)).toEqual(["waiting", "waiting"]);
  });

  test("again and again gives up", async () => {
    const { writer } = writerOn((text) =>
      text.includes("writer default values") ? { id: 1 } : { base: null, stored: null },
    );
    const twice = { message: expect.stringContaining("removed twice") };
    await expect(
      writer.store({ batch: {}, bodies: new Uint8Array(), at: [], unique: [], unhandled: 0 }),
    ).rejects.toMatchObject(twice);
    await expect(writer.transaction((_, make) => make([]))).rejects.toMatchObject(twice);
  });
});

test("a store for whose day there is no table yet makes it, once", async () => {
  const missing = toStorageError(Object.assign(new Error("no partition"), { code: "23514" }), "statement");
  const batch = { batch: {}, bodies: new Uint8Array(), at: [], unique: [], unhandled: 0 };
  let failures = 1;
  const { writer, made } = writerOn((text) => {
    if (text.includes("writer default values")) return { id: 7 };
    if (failures-- > 0) throw missing;
    return { stored: { base: 5 } };
  });
  expect(await writer.store(batch)).toEqual({ base: 5, writer: 7 });
  expect(made()).toBe(1);
  failures = 2;
  await expect(writer.store(batch)).rejects.toBe(missing);
  expect(made()).toBe(2);
});

/** A writer on a server that gives one row for each statement. */
function writerOn(answer: (text: string) => object) {
  const query: Pool["query"] = async (text) => [answer(text)] as never;
  let made = 0;
  const pool: Pool = { query, transaction: (run) => run({ query }), close: async () => {}, unref() {} };
  const writer = createWriter({ pool, ident: () => "hl", now: () => NOW, ensureDays: async () => void (made += 1) });
  return { writer, made: () => made };
}
