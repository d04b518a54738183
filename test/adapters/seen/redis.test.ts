import { redisSeen } from "hookline/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkSeenStore } from "../../suites/check-seen-store.ts";
import { startRedis, whyWithout, type QueueServer } from "../../support/queues/start-server.ts";

const why = whyWithout("redis-server");

describe.skipIf(why)(`redisSeen ${why ?? ""}`, () => {
  let server: QueueServer;
  const clients: Redis[] = [];
  const connect = (): Redis => {
    const client = new Redis({ port: server.port });
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await server.remove();
  });

  describe("with ioredis", () => checkSeenStore(() => redisSeen(connect())));

  test("a claim whose answer was lost is the caller's when its client repeats it", async () => {
    const client = connect();
    const store = redisSeen({
      async call(command, ...args) {
        if (command === "SET") await client.call(command, ...args);
        return client.call(command, ...args);
      },
    });
    expect(await store.claim("repeated", 60_000)).toBe("mine");
    await store.settle("repeated", "failed", 1);
    expect(await redisSeen(connect()).claim("repeated", 60_000)).toBe("mine");
  });

  describe("with node-redis, whose commands are lists", () =>
    checkSeenStore(() => {
      const client = connect();
      return redisSeen({ sendCommand: ([command = "", ...args]: string[]) => client.call(command, ...args) });
    }));
});

test("redisSeen refuses what is no client", () => {
  for (const client of [undefined, {}, "redis://localhost"])
    expect(() => redisSeen(client as never)).toThrow(expect.objectContaining({ code: "option-invalid" }));
});
