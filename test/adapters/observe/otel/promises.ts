import { context, createTraceState, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { forwardInbox, GiveUp, RetryLater, type StoredDelivery } from "hookline";
import { openTelemetry } from "hookline/opentelemetry";
import assert from "node:assert/strict";
import { bodyOf, change } from "../../../support/make-delivery.ts";
import type { EndedSpan, Sdk } from "./sdk.ts";
import { createWorld, failing, mails, type World } from "./world.ts";

// What holds with each pair of API and SDK. Plain assertions: one of the pairs needs a process of its own.

type Promised = (sdk: Sdk) => Promise<void>;

const soon = { retryForMs: 60_000, attempts: 4 };
const idsOf = (span: EndedSpan | undefined) => span?.spanContext().traceId;
const linked = (span: EndedSpan | undefined) =>
  span?.links.map(({ context: { traceId, spanId } }) => [traceId, spanId]);
const toLink = (span: EndedSpan | undefined) => [span?.spanContext().traceId, span?.spanContext().spanId];

/** Calls fail at once, and are tried again at once. */
const again = () => new RetryLater({ afterMs: 100 });

/** Waits for so many spans of calls. The limit only guards against a hang. */
async function haveEnded(world: World, count: number): Promise<void> {
  const end = Date.now() + 50_000;
  while (world.processes().length < count) {
    assert.ok(Date.now() < end, `There are ${world.processes().length} spans of calls, expected ${count}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const PROMISES: Readonly<Record<string, Promised>> = {
  "a delivery of three changes, two of them merged, is one span sent and two processed, which link to it": async (
    sdk,
  ) => {
    await using world = createWorld(sdk);
    world.receiver.on("email", () => {});
    assert.equal(await world.send(mails("a", "a", "b")), 200);
    await world.receiver.start();
    await world.receiver.idle();
    const [sent, ...more] = world.sends();
    const [merged, single, ...others] = world.processes();
    assert.deepEqual([more.length, others.length], [0, 0]);
    assert.deepEqual(linked(merged), [toLink(sent), toLink(sent)]);
    assert.deepEqual(linked(single), [toLink(sent)]);
    assert.deepEqual([sent?.kind, merged?.kind], [SpanKind.PRODUCER, SpanKind.CONSUMER]);
    const id = sent?.attributes["messaging.message.id"];
    const common = { "messaging.system": "hookline", "messaging.destination.name": "mail" };
    assert.deepEqual(sent?.attributes, {
      ...common,
      "messaging.operation.name": "send",
      "messaging.operation.type": "send",
      "messaging.message.id": id,
    });
    const { jobs } = await world.receiver.jobs.list();
    assert.ok(jobs.every(({ deliveryId }) => deliveryId === id));
    assert.deepEqual(merged?.attributes, {
      ...common,
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.consumer.group.name": "default",
      "messaging.message.id": id,
      "messaging.batch.message_count": 2,
      "hookline.event.type": "email.updated",
      "hookline.attempt": 1,
      "hookline.job.id": merged?.attributes["hookline.job.id"],
      "hookline.account_id": 2002,
      "hookline.outcome": "done",
    });
    assert.equal(single?.attributes["messaging.batch.message_count"], undefined);
  },

  "a request's span is a child of the active one, and a call's is a trace of its own": async (sdk) => {
    await using world = createWorld(sdk);
    world.receiver.on("email", () => {});
    await world.receiver.start();
    const tracer = (
      sdk.tracing().provider as { getTracer(name: string): ReturnType<typeof trace.getTracer> }
    ).getTracer("http");
    const server = tracer.startSpan("POST /webhooks");
    await context.with(trace.setSpan(context.active(), server), () => world.send());
    await world.receiver.idle();
    const [[sent], [processed]] = [world.sends(), world.processes()];
    assert.equal(sent?.parentSpanContext?.spanId, server.spanContext().spanId);
    assert.equal(idsOf(sent), server.spanContext().traceId);
    assert.equal(processed?.parentSpanContext, undefined);
    assert.notEqual(idsOf(processed), idsOf(sent));
  },

  "three retries are four traces, each linked to the request": async (sdk) => {
    await using world = createWorld(sdk, { options: soon });
    world.receiver.on("email", failing(3, again()));
    await world.receiver.start();
    await world.send();
    await haveEnded(world, 4);
    const [sent] = world.sends();
    assert.equal(new Set(world.processes().map(idsOf)).size, 4);
    for (const span of world.processes()) assert.deepEqual(linked(span), [toLink(sent)]);
    assert.deepEqual(
      world.processes().map(({ attributes }) => attributes["hookline.outcome"]),
      ["retry", "retry", "retry", "done"],
    );
  },

  "continued: a call goes on in the request's trace, a merged one is linked": async (sdk) => {
    await using world = createWorld(sdk, { telemetry: { trace: "continued" }, options: soon });
    world.receiver.on("email", failing(1, again()), { lane: "resource" });
    await world.send(mails("a"));
    await world.receiver.start();
    await haveEnded(world, 2);
    const [sent] = world.sends();
    for (const span of world.processes()) assert.deepEqual([idsOf(span), span.parentSpanContext?.spanId], toLink(sent));
    const before = world.processes().length;
    await world.receiver.close();
    await using second = createWorld(sdk, { telemetry: { trace: "continued" } });
    second.receiver.on("email", () => {});
    await second.send(mails("b", "b"));
    await second.receiver.start();
    await second.receiver.idle();
    const [merged] = second.processes();
    assert.equal(before, 2);
    assert.equal(merged?.parentSpanContext, undefined);
    assert.deepEqual(linked(merged), [toLink(second.sends()[0]), toLink(second.sends()[0])]);
  },

  "the handler runs within its span, across awaits, and within no other": async (sdk) => {
    await using world = createWorld(sdk);
    const active: (string | undefined)[] = [];
    world.receiver.use((_event, _ctx, next) => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return next();
    });
    world.receiver.on("email", async () => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      await new Promise((resolve) => setTimeout(resolve, 5));
      active.push(trace.getActiveSpan()?.spanContext().spanId);
    });
    await world.receiver.start();
    await world.send();
    await world.receiver.idle();
    const own = world.processes()[0]?.spanContext().spanId;
    assert.deepEqual(active, [own, own, own]);
    assert.equal(trace.getActiveSpan(), undefined);
  },

  "lines of ctx.log carry the ids of the trace and the span, and none where there is no span": async (sdk) => {
    await using world = createWorld(sdk);
    await using without = createWorld(sdk, { telemetry: { tracerProvider: undefined } });
    for (const { receiver, send } of [world, without]) {
      receiver.on("email", (_event, ctx) => ctx.log.info({ mine: true }, "mine"));
      await receiver.start();
      await send();
      await receiver.idle();
    }
    const [span] = world.processes();
    const line = world.lines.find(({ mine }) => mine === true);
    assert.deepEqual([line?.["trace_id"], line?.["span_id"]], toLink(span));
    assert.ok(line !== undefined && "jobId" in line);
    const bare = without.lines.find(({ mine }) => mine === true);
    assert.ok(bare !== undefined && !("trace_id" in bare));
  },

  "a request that is not sampled leaves no context behind, and its calls link to nothing": async (sdk) => {
    await using world = createWorld(sdk, { ratio: 0 });
    let stored: StoredDelivery | undefined;
    world.receiver.on("email", async (_event, ctx) => void (stored = await ctx.delivery()));
    await world.receiver.start();
    await world.send();
    await world.receiver.idle();
    assert.deepEqual(Object.keys(stored?.headers ?? {}).toSorted(), [
      "x-aurinko-request-timestamp",
      "x-aurinko-signature",
    ]);
    assert.deepEqual([world.sends().length, world.processes().length], [0, 0]);
  },

  "the context is never the incoming request's own, and a malformed one is ignored": async (sdk) => {
    const given = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await using world = createWorld(sdk);
    let stored: StoredDelivery | undefined;
    world.receiver.on("email", async (_event, ctx) => void (stored ??= await ctx.delivery()));
    await world.receiver.start();
    await world.send(undefined, { traceparent: given, tracestate: "a=b" });
    await world.receiver.idle();
    const [[sent], [processed]] = [world.sends(), world.processes()];
    assert.equal(sent?.parentSpanContext, undefined);
    assert.deepEqual(linked(processed), [toLink(sent)]);
    assert.equal(stored?.headers["traceparent"], `00-${toLink(sent).join("-")}-01`);
    assert.equal(stored?.headers["tracestate"], undefined);
    for (const traceparent of [
      given.toUpperCase(),
      `01${given.slice(2)}`,
      `${given}-x`,
      ` ${given}`,
      given.slice(0, -1),
      given.replaceAll("a", "0"),
      given.replaceAll("b", "0"),
      given.replace("a", "g"),
      "",
      "x".repeat(100_000),
      7 as never,
    ]) {
      await using own = createWorld(sdk);
      own.receiver.on("email", () => {});
      await own.receiver.handle({ ...stored, headers: { ...stored?.headers, traceparent } });
      assert.deepEqual(own.processes()[0]?.links, []);
    }
  },

  "tracestate travels up to 512 bytes": async (sdk) => {
    for (const [length, travels] of [
      [512, true],
      [513, false],
    ] as const) {
      const text = `a=${"b".repeat(200)},c=${"d".repeat(200)},e=${"f".repeat(length - 408)}`;
      assert.equal(text.length, length);
      await using world = createWorld(sdk);
      let stored: StoredDelivery | undefined;
      world.receiver.on("email", async (_event, ctx) => void (stored = await ctx.delivery()));
      await world.receiver.start();
      const parent = {
        traceId: "a".repeat(32),
        spanId: "b".repeat(16),
        traceFlags: 1,
        traceState: createTraceState(text),
      };
      await context.with(trace.setSpanContext(context.active(), parent), () => world.send());
      await world.receiver.idle();
      assert.equal(stored?.headers["tracestate"], travels ? text : undefined);
      const state = world.processes()[0]?.links[0]?.context.traceState?.serialize();
      assert.equal(state, travels ? text : undefined);
    }
  },

  "outcomes and errors: what failed says so by a name, never by its message": async (sdk) => {
    await using world = createWorld(sdk, { options: { attempts: 1 } });
    const errors: Record<string, unknown> = { a: new TypeError("ann@example.com"), b: new GiveUp("never"), c: "text" };
    world.receiver.on("email", ({ id }) => {
      if (id in errors) throw errors[id];
    });
    await world.receiver.start();
    for (const id of ["a", "b", "c", "d"]) await world.send(mails(id));
    await world.receiver.idle();
    assert.deepEqual(
      world
        .processes()
        .map(({ attributes, status }) => [attributes["hookline.outcome"], attributes["error.type"], status]),
      [
        ["dead", "TypeError", { code: SpanStatusCode.ERROR }],
        ["dead", "give-up", { code: SpanStatusCode.ERROR }],
        ["dead", "_OTHER", { code: SpanStatusCode.ERROR }],
        ["done", undefined, { code: SpanStatusCode.UNSET }],
      ],
    );
    const request = {
      method: "POST",
      url: "/",
      headers: {
        "x-aurinko-signature": "0".repeat(64),
        "x-aurinko-request-timestamp": `${Math.floor(Date.now() / 1_000)}`,
      },
      body: Buffer.from("{}"),
    };
    await world.receiver.receive(request);
    await world.receiver.receive({ ...request, method: "GET" });
    const refused = world.sends().at(-1);
    assert.deepEqual(
      [refused?.attributes["error.type"], refused?.status.code],
      ["signature-wrong", SpanStatusCode.ERROR],
    );
    assert.equal(world.sends().length, 5);
  },

  "a call of very many links the newest 128": async (sdk) => {
    await using world = createWorld(sdk);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    world.receiver.on("email.changes", () => released);
    await world.receiver.start();
    for (let sent = 0; sent < 201; sent += 1) await world.send(mails(`m-${sent}`));
    release();
    await world.receiver.idle();
    const [first, merged] = world.processes();
    assert.equal(first?.links.length, 1);
    assert.equal(merged?.attributes["messaging.batch.message_count"], 200);
    assert.deepEqual(linked(merged), world.sends().slice(-128).map(toLink));
  },

  "metrics have the names of the conventions, seconds, and no account": async (sdk) => {
    const metering = sdk.metering();
    await using world = createWorld(sdk, { telemetry: { meterProvider: metering.provider }, options: { attempts: 1 } });
    world.receiver.on("email", ({ id }) => {
      if (id === "bad") throw new TypeError("no");
    });
    await world.send(mails("a", "a"));
    await world.send(mails("bad"));
    await world.send(bodyOf({ resource: "/booking/935", payloads: [{ bookingId: 935, eventId: "e" }] }));
    await world.receiver.start();
    await world.receiver.idle();
    const measured = await metering.collect();
    const of = (name: string) => measured.find((one) => one.name === name);
    const common = { "messaging.system": "hookline", "messaging.destination.name": "mail" };
    const process = { ...common, "messaging.operation.name": "process", "messaging.consumer.group.name": "default" };
    assert.deepEqual(
      of("messaging.client.sent.messages")?.points.map(({ attributes, value }) => [attributes, value]),
      [[{ ...common, "messaging.operation.name": "send" }, 3]],
    );
    assert.deepEqual(
      of("messaging.client.consumed.messages")?.points.map(({ attributes, value }) => [attributes, value]),
      [
        [process, 2],
        [{ ...process, "error.type": "TypeError" }, 1],
      ],
    );
    const durations = of("messaging.process.duration");
    const [duration] = (durations?.points ?? []) as unknown as [
      { value: { count: number; sum: number; buckets: { boundaries: readonly number[] } } },
    ];
    assert.equal(durations?.unit, "s");
    assert.equal(duration.value.count, 1);
    assert.ok(duration.value.sum < 60);
    assert.deepEqual(
      duration.value.buckets.boundaries,
      [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    );
    assert.equal(of("messaging.client.operation.duration")?.unit, "s");
    const gauges = Object.fromEntries(
      measured.filter(({ name }) => name.startsWith("hookline.")).map(({ name, points }) => [name, points[0]?.value]),
    );
    assert.deepEqual(gauges, {
      "hookline.jobs.waiting": 0,
      "hookline.jobs.oldest_waiting": 0,
      "hookline.jobs.dead": 1,
      "hookline.jobs.unhandled": 1,
      "hookline.jobs.paused": 0,
      "hookline.lanes.blocked": 0,
    });
    const attributes = measured.flatMap(({ points }) => points.map((point) => point.attributes));
    assert.doesNotMatch(JSON.stringify(attributes), /2002|account/);
  },

  "without metrics none is made, and without accountIds no span has one": async (sdk) => {
    const metering = sdk.metering();
    const telemetry = { metrics: false, accountIds: false, meterProvider: metering.provider };
    await using world = createWorld(sdk, { telemetry });
    world.receiver.on("email", () => {});
    await world.receiver.start();
    await world.send();
    await world.receiver.idle();
    assert.deepEqual(await metering.collect(), []);
    assert.equal(world.processes().length, 1);
    assert.doesNotMatch(JSON.stringify(world.processes()[0]?.attributes), /2002|account/);
  },

  "an SDK that is registered later is found": async (sdk) => {
    const tracing = sdk.tracing();
    await using world = createWorld(sdk, { telemetry: { tracerProvider: undefined, meterProvider: undefined } });
    world.receiver.on("email", () => {});
    await world.receiver.start();
    await world.send();
    trace.setGlobalTracerProvider(tracing.provider as never);
    try {
      await world.send();
      await world.receiver.idle();
      assert.ok(tracing.spans().some(({ name }) => name === "send mail"));
      assert.ok(tracing.spans().some(({ name }) => name === "process mail"));
    } finally {
      trace.disable();
    }
  },

  "a queue in front keeps the link, and a consumer's own span is the parent": async (sdk) => {
    const queue: StoredDelivery[] = [];
    await using front = createWorld(sdk, { inbox: forwardInbox(async (all) => void queue.push(...all)) });
    await front.send();
    const [stored] = JSON.parse(JSON.stringify(queue)) as [StoredDelivery];
    const [sent] = front.sends();
    await using accepting = createWorld(sdk);
    accepting.receiver.on("email", () => {});
    await accepting.receiver.start();
    await accepting.receiver.accept([stored]);
    await accepting.receiver.idle();
    assert.deepEqual(linked(accepting.processes()[0]), [toLink(sent)]);
    await using handling = createWorld(sdk);
    handling.receiver.on("email", () => {});
    const parent = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1 };
    await context.with(trace.setSpanContext(context.active(), parent), () => handling.receiver.handle(stored));
    await handling.receiver.handle(stored);
    const [within, alone] = handling.processes();
    assert.deepEqual([idsOf(within), linked(within)], [parent.traceId, [toLink(sent)]]);
    assert.deepEqual([alone?.parentSpanContext, linked(alone)], [undefined, [toLink(sent)]]);
  },

  "a provider that throws in every method reaches no request and no job": async () => {
    const angry = (calls: number): object =>
      new Proxy(() => {}, {
        get(_target, name) {
          if (name === "then") return undefined;
          if (calls === 0) throw new Error(`no ${String(name)}`);
          return () => angry(calls - 1);
        },
        apply() {
          throw new Error("no");
        },
      });
    for (const depth of [0, 1, 2, 3]) {
      const nothing: Sdk = {
        tracing: () => ({ provider: provider("getTracer", depth, angry), spans: () => [] }),
        metering: () => ({ provider: provider("getMeter", depth, angry), collect: async () => [] }),
      };
      await using world = createWorld(nothing);
      world.receiver.on("email", () => {});
      await world.receiver.start();
      for (let sent = 0; sent < 5; sent += 1) assert.equal(await world.send(), 200);
      await world.receiver.idle();
      assert.equal(world.receiver.stats().succeeded, 5);
      assert.equal(world.lines.filter(({ code }) => code === "observer-failed").length, 1);
    }
  },

  "is called before the start, once, until it is ended": async (sdk) => {
    await using world = createWorld(sdk);
    assert.throws(() => openTelemetry(world.receiver), { code: "telemetry-doubled" });
    await world.receiver.start();
    assert.throws(() => openTelemetry(world.receiver), { code: "telemetry-after-start" });
    await using fresh = createWorld(sdk);
    for (const options of [
      { trace: "on" },
      { metrics: "yes" },
      { accountIds: 1 },
      { tracerProvider: {} },
      { meterProvider: null },
      { spans: true },
    ])
      assert.throws(() => openTelemetry(fresh.receiver, options as object), { code: "option-invalid" });
    assert.throws(() => openTelemetry({} as never), { code: "receiver-invalid" });
    assert.equal(change("a").id, "a");
  },
};

/** It has the method that is looked for, so that it is taken; all else throws, so many calls later. */
function provider(method: string, depth: number, angry: (calls: number) => object): object {
  return depth === 0
    ? {
        [method]() {
          throw new Error("no");
        },
      }
    : { [method]: () => angry(depth - 1) };
}
