import { Ajv2020 } from "ajv/dist/2020.js";
import { lookup } from "node:dns";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, test, vi } from "vitest";
import { toEventRequest } from "../../src/cli/serve/event-request.ts";
import { guardLookup, isLinkLocal } from "../../src/cli/serve/refused-addresses.ts";
import { EVENT_NAMES } from "../../src/protocol/event-names.ts";
import { sample } from "../../src/testing.ts";
import { until } from "../support/event-loop.ts";
import { emails, rig } from "../support/rig.ts";
import { FORWARD_SECRET, forwardTo, startApp } from "./forwarded-app.ts";

const facts = { attempt: 1, merged: 1, idempotencyKey: "default:v0=ab:0" };
const secrets = [Buffer.alloc(32, "k")];

describe("the request to an app", () => {
  test("is one that the library of Standard Webhooks verifies", async () => {
    const app = await startApp();
    const world = rig();
    forwardTo(world.receiver, app.url);
    await world.receiver.start();
    vi.useFakeTimers({ now: world.clock.now(), toFake: ["Date"] });
    await world.send(emails("m-1"));
    await until(() => app.got.length === 1);
    const [{ body, headers }] = app.got as [(typeof app.got)[0]];
    const verified = new Webhook(FORWARD_SECRET).verify(body, headers as Record<string, string>);
    vi.useRealTimers();
    expect(verified).toMatchObject({ type: "email.updated", attempt: 1, merged: 1, event: { id: "m-1" } });
    expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "hookline" });
    expect(JSON.stringify([body, headers])).not.toContain(FORWARD_SECRET.slice(6));
  });

  test("has a signature for each secret while they change", () => {
    const event = sample("email.created");
    const both = toEventRequest(event, facts, { secrets: [Buffer.alloc(32, "n"), ...secrets], now: Date.now() });
    for (const secret of [Buffer.alloc(32, "n"), Buffer.alloc(32, "k")]) {
      const { body, headers } = both;
      expect(new Webhook(secret.toString("base64")).verify(body, headers)).toMatchObject({ type: "email.created" });
    }
  });

  test("has the idempotency key as its id, whatever text of the wire is in it", () => {
    const idOf = (idempotencyKey: string) =>
      toEventRequest(sample("booking"), { ...facts, idempotencyKey }, { secrets, now: 0 }).headers["webhook-id"];
    expect(idOf("default:v0=ab:0")).toBe("default:v0=ab:0");
    expect(idOf("default:booking:1:2:tä\r\nx: y")).toBe("default:booking:1:2:t%C3%A4%0D%0Ax:%20y");
    expect(idOf("x".repeat(100_000))).toMatch(/^[\da-f]{64}$/);
  });

  test("is described by the schema in the package", () => {
    const file = join(import.meta.dirname, "../../deploy/gateway/event.schema.json");
    const validate = new Ajv2020({ strict: true }).compile(JSON.parse(readFileSync(file, "utf8")) as object);
    const bodyOf = (name: (typeof EVENT_NAMES)[number]): unknown =>
      JSON.parse(toEventRequest(sample(name), facts, { secrets, now: 0 }).body);
    for (const name of EVENT_NAMES) {
      validate(bodyOf(name));
      expect([name, validate.errors]).toEqual([name, null]);
    }
    for (const wrong of [
      {},
      { ...(bodyOf("booking") as object), attempt: 0 },
      { ...(bodyOf("booking") as object), event: {} },
    ])
      expect(validate(wrong)).toBe(false);
  });
});

describe("the address of an app", () => {
  test.each([
    "169.254.169.254",
    "169.254.0.1",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::169.254.169.254",
    "64:ff9b::169.254.169.254",
    "fd00:ec2::254",
  ])("%s is one of a cloud's metadata", (address) => expect(isLinkLocal(address)).toBe(true));

  test.each(["127.0.0.1", "10.0.0.1", "169.253.1.1", "::1", "fe80::1%eth0", "::ffff:10.0.0.1"])(
    "%s is none",
    (address) => expect(isLinkLocal(address)).toBe(false),
  );

  test("is looked at each time that a name is looked up", async () => {
    const app = await startApp((res) => res.writeHead(200, { Connection: "close" }).end());
    const world = rig();
    let addresses = [{ address: "127.0.0.1", family: 4 }];
    const changing = ((_name: string, _options: object, done: (error: null, found: typeof addresses) => void) =>
      done(null, addresses)) as unknown as typeof lookup;
    forwardTo(world.receiver, `http://app.example:${app.port}/`, { lookup: changing });
    await world.receiver.start();
    await world.send(emails("m-1"));
    await until(() => world.receiver.stats().succeeded === 1);
    addresses = [...addresses, { address: "::ffff:169.254.169.254", family: 6 }];
    await world.send(emails("m-2"));
    await until(() => world.receiver.stats().retried === 1);
    expect(app.got).toHaveLength(1);
    const { problems } = await world.receiver.health();
    expect(problems.find(({ code }) => code === "forward-failing")?.message).toContain(
      "app.example is ::ffff:169.254.169.254, the address of a cloud's metadata.",
    );
  });

  test("of a name without one is an error, not a crash", () => {
    const done = vi.fn<(error: Error | null) => void>();
    const none = ((_name: string, _options: object, found: (error: null, all: []) => void) =>
      found(null, [])) as unknown;
    guardLookup(none as typeof lookup)("nowhere.example", {}, done);
    expect(done.mock.calls[0]?.[0]).toMatchObject({ code: "ENOTFOUND" });
  });
});
