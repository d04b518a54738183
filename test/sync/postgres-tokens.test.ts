import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { createClient } from "hookline/client";
import { postgresInbox } from "hookline/postgres";
import { sqliteInbox } from "hookline/sqlite";
import { deltaSync, postgresTokens, sqliteTokens } from "hookline/sync";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { join } from "node:path";
import { folderFor } from "../adapters/inbox/on-disk.ts";
import { startService } from "../client/support.ts";
import { newDatabase } from "../support/postgres.ts";

const KEYS = ["2002 /email/messages updated", "20021 /email/messages updated", "2002x"];

/** Receivers of one database, as processes have them. */
async function database() {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  return {
    open(): Receiver {
      const receiver = createReceiver({ secret: "s", inbox: postgresInbox(connectionString), log: false });
      onTestFinished(async () => void (await receiver.close()));
      return receiver;
    },
    async query(text: string): Promise<readonly object[]> {
      const client = new pg.Client({ connectionString });
      await client.connect();
      try {
        return (await client.query<object>(text)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

describe("postgresTokens", () => {
  test("are seen by all processes, also by one that only receives, and there after a restart", async () => {
    const { open } = await database();
    const [works, receives] = [open(), open()];
    await works.start();
    await postgresTokens(works).set("2002 a", "one");
    await postgresTokens(receives).set("2002 b", "two");
    expect(await postgresTokens(receives).get("2002 a")).toBe("one");
    await postgresTokens(works).set("2002 b", "three");
    await postgresTokens(works).set("2002 a", undefined);
    await works.close();
    await receives.close();
    const tokens = postgresTokens(open());
    expect([await tokens.get("2002 a"), await tokens.get("2002 b")]).toEqual([undefined, "three"]);
  });

  test("are erased with their account, and no other's", async () => {
    const receiver = (await database()).open();
    const tokens = postgresTokens(receiver);
    for (const key of KEYS) await tokens.set(key, "text");
    expect(await receiver.jobs.erase(2002)).toMatchObject({ tokens: 1 });
    expect(await Promise.all(KEYS.map((key) => tokens.get(key)))).toEqual([undefined, "text", "text"]);
  });

  test("take keys and texts of any length, byte for byte", async () => {
    const { open, query } = await database();
    const tokens = postgresTokens(open());
    const long = `2002 /calendars/${"x".repeat(10_000)}/events`;
    const token = `'"\\$${"a".repeat(10_000)}ü`;
    await tokens.set(`${long} updated`, token);
    await tokens.set(`${long} deleted`, "another");
    expect(await tokens.get(`${long} updated`)).toBe(token);
    expect(await query("select account::int, count(*)::int from hookline.key_value group by 1")).toEqual([
      { account: 2002, count: 2 },
    ]);
  });

  test("refuse a token that is no text", async () => {
    const tokens = postgresTokens((await database()).open());
    for (const token of [Promise.resolve("token"), 7, null])
      await expect(tokens.set("2002 a", token as never)).rejects.toMatchObject({ code: "tokens-invalid" });
    expect(await tokens.get("2002 a")).toBeUndefined();
  });

  test("let a sync go on in another process where the first one stopped", async () => {
    const { url, requests } = await startService(({ method }) => ({
      json:
        method === "POST"
          ? { syncUpdatedToken: "u0", syncDeletedToken: "d0", ready: true }
          : { records: [], nextDeltaToken: "next" },
    }));
    const { open } = await database();
    for (const starts of [1, 1]) {
      const receiver = open();
      const client = createClient({ baseUrl: url, token: "t", retry: false, rateLimit: false });
      const tokens = postgresTokens(receiver);
      const sync = deltaSync(receiver, "email", {
        client: () => client,
        tokens,
        apply: async () => {},
        remove: async () => {},
      });
      await receiver.start();
      await sync.run(2002);
      expect(requests.filter(({ method }) => method === "POST")).toHaveLength(starts);
      await receiver.close();
    }
  });

  test("and sqliteTokens need the inbox that they are named after", async () => {
    const file = createReceiver({ secret: "s", inbox: sqliteInbox(join(folderFor(), "inbox.db")), log: false });
    const memory = createReceiver({ secret: "s", inbox: memoryInbox(), log: false });
    const unavailable = expect.objectContaining({ code: "tokens-unavailable" });
    expect(() => postgresTokens(file)).toThrow(unavailable);
    expect(() => postgresTokens(memory)).toThrow(unavailable);
    const receiver = (await database()).open();
    expect(() => sqliteTokens(receiver)).toThrow(unavailable);
    await Promise.all([file.close(), memory.close()]);
  });
});
