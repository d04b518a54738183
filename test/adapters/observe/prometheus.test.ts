import { createReceiver, forwardInbox, GiveUp, memoryInbox, RetryLater, type Receiver } from "hookline";
import { prometheusMetrics, type PrometheusOptions } from "hookline/prometheus";
import { spawnSync } from "node:child_process";
import { Counter, Registry } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { toStored } from "../../../src/inbox/port/delivery.ts";
import { createDice } from "../../sim/random.ts";
import { bodyOf, bookingBody, change, lifecycleBody, makeDelivery } from "../../support/make-delivery.ts";
import { emails, heldHandler, rig, type RigOptions } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { seriesOf, valueIn } from "./series.ts";

const noPromtool = spawnSync("promtool", ["--version"]).error !== undefined;

function watched(options: RigOptions & { readonly metrics?: PrometheusOptions } = {}) {
  const { metrics: given, ...rest } = options;
  const own = rig(rest);
  const metrics = prometheusMetrics(own.receiver, given);
  return {
    ...own,
    metrics,
    value: async (...what: [name: string, labels?: Readonly<Record<string, string>>]) =>
      valueIn(await metrics.text(), ...what),
  };
}

describe("the metrics for Prometheus", () => {
  test.each([1, 2, 3])("count what stats() counts, whatever happens (seed %i)", async (seed) => {
    const dice = createDice(seed);
    const { receiver, offer, pass, metrics, clock } = watched({ attempts: 3, retryForMs: 60_000 });
    const act = (): void => {
      if (dice.chance(0.3)) throw dice.pick([new Error("no"), new GiveUp("never"), new RetryLater({ afterMs: 500 })]);
    };
    receiver.on(["email.created", "email.updated", "booking"], act);
    receiver.on("email.updated", act, { consumer: "sync", lane: "resource" });
    await receiver.start();
    for (let round = 0; round < 60; round += 1) {
      const ids = Array.from({ length: dice.int(1, 4) }, () => change(`m-${dice.int(1, 3)}`, dice.pick(CHANGES)));
      const body = dice.chance(0.3) ? bookingBody(`e-${dice.int(1, 5)}`) : bodyOf({ payloads: ids });
      await (dice.chance(0.1) ? offer(body, { at: new Date(0) }) : offer(body));
      if (dice.chance(0.3)) await pass(1_000);
    }
    for (let step = 0; step < 100; step += 1) await pass(5_000);
    const text = await metrics.text();
    const { answered, refused, stored, duplicates, succeeded, dead, skipped, failed } = receiver.stats();
    const counted = {
      requests: valueIn(text, "requests_total"),
      acknowledged: valueIn(text, "requests_total", { status: "200" }),
      timed: valueIn(text, "request_duration_seconds_count"),
      refused: valueIn(text, "refused_total"),
      stored: valueIn(text, "deliveries_stored_total"),
      storing: valueIn(text, "store_duration_seconds_count"),
      duplicates: valueIn(text, "duplicates_total"),
      done:
        Number(valueIn(text, "jobs_finished_total", { outcome: "done" })) +
        Number(valueIn(text, "jobs_finished_total", { outcome: "merged" })),
      dead: valueIn(text, "jobs_finished_total", { outcome: "dead" }),
      skipped: valueIn(text, "jobs_finished_total", { outcome: "skipped" }),
      failed: valueIn(text, "attempts_failed_total"),
    };
    const sum = (counts: object): number => Object.values(counts).reduce((all: number, one: number) => all + one, 0);
    expect(counted).toEqual({
      requests: sum(answered),
      acknowledged: answered[200],
      timed: sum(answered),
      refused: sum(refused),
      stored,
      storing: stored,
      duplicates,
      done: succeeded,
      dead,
      skipped,
      failed,
    });
    for (const count of [refused["timestamp-stale"], duplicates, succeeded, dead, skipped, failed])
      expect(count).toBeGreaterThan(0);
    expect(clock.now()).toBeGreaterThan(0);
  });

  test("are there at 0 before anything happens, with these labels alone", async () => {
    const { receiver, metrics } = watched();
    receiver.on("*", () => {});
    receiver.on("email.created", () => {}, { consumer: "search" });
    await receiver.start();
    const series = seriesOf(await metrics.text());
    const labels = Map.groupBy(series, ({ name }) => name);
    expect(
      [...labels].map(([name, all]) => [name, ...new Set(all.map((one) => Object.keys(one.labels).join()))].join(" ")),
    ).toEqual(LABELS);
    const counts = series.filter(({ name }) => /_(?:total|count|bucket|sum)$/.test(name));
    expect(counts.filter(({ value }) => value !== 0)).toEqual([]);
    for (const labelled of [{ code: "signature-wrong" }, { code: "closed" }, { status: "503" }])
      expect(counts).toContainEqual(expect.objectContaining({ labels: labelled, value: 0 }));
    const consumer = { consumer: "search", type: "email.created" };
    for (const outcome of ["done", "merged", "dead"])
      expect(counts).toContainEqual(expect.objectContaining({ labels: { ...consumer, outcome }, value: 0 }));
    expect(counts).toContainEqual(
      expect.objectContaining({ name: "hookline_attempts_failed_total", labels: consumer }),
    );
  });

  test("have a series for each change that is skipped, and none for one that is handled", async () => {
    const { receiver, metrics } = watched();
    receiver.on("task.created", () => {});
    const skipped = seriesOf(await metrics.text()).filter(({ labels }) => labels["outcome"] === "skipped");
    expect(skipped.map(({ labels }) => labels["type"])).toEqual(["task.updated", "task.deleted"]);
  });

  test("gain no series from 10,000 accounts and 1,000 names that nobody knows", async () => {
    const { receiver, offer, metrics } = watched();
    receiver.on(["*", "unknown"], () => {});
    await receiver.start();
    const names = async (): Promise<readonly string[]> =>
      seriesOf(await metrics.text())
        .filter(({ name }) => name !== "hookline_problem")
        .map(({ name, labels }) => name + JSON.stringify(labels));
    const before = await names();
    for (let account = 0; account < 10_000; account += 1)
      await offer(bodyOf({ accountId: account, subscription: account, payloads: [change(`m-${account}`)] }), {
        source: `source-${account}`,
      });
    for (let name = 0; name < 1_000; name += 1)
      await offer(
        name % 2 === 0 ? bodyOf({ resource: `/made/up-${name}` }) : bodyOf({ payloads: [change("m", `was-${name}`)] }),
      );
    await receiver.idle();
    expect(await names()).toEqual(before);
    expect(valueIn(await metrics.text(), "jobs_finished_total", { outcome: "done", type: "unknown" })).toBe(1_000);
  });

  test("stay below 700 series and 120 kB with a handler for each of the 29 names and two consumers", async () => {
    const { receiver, metrics } = watched();
    for (const consumer of ["one", "two"]) receiver.on(["*", "unknown"], () => {}, { consumer });
    await receiver.start();
    const text = await metrics.text();
    expect(seriesOf(text).length).toBeLessThan(700);
    expect(seriesOf(text).length).toBeGreaterThan(450);
    expect(text.length).toBeLessThan(120_000);
  });

  test("count a merged call once, its jobs each, and the wait of first attempts alone", async () => {
    const { receiver, send, pass, value, clock } = watched();
    const errors = [new Error("no")];
    receiver.on("email", () => {
      const error = errors.pop();
      if (error !== undefined) throw error;
    });
    await send(emails("a", "a", "b"));
    await pass(2_000);
    await receiver.start();
    await receiver.idle();
    await pass(1_000);
    await receiver.idle();
    const of = { consumer: "default", type: "email.updated" };
    expect(await value("jobs_finished_total", { ...of, outcome: "done" })).toBe(2);
    expect(await value("jobs_finished_total", { ...of, outcome: "merged" })).toBe(1);
    expect(await value("attempts_failed_total", of)).toBe(2);
    expect(await value("handler_duration_seconds_count")).toBe(3);
    expect(await value("job_wait_seconds_count")).toBe(3);
    expect(await value("job_wait_seconds_sum")).toBe(6);
    expect(await value("job_wait_seconds_bucket", { le: "1" })).toBe(0);
    expect(await value("job_wait_seconds_bucket", { le: "2.5" })).toBe(3);
    await receiver.jobs.replay({ state: "done" });
    await clock.advance(3_600_000);
    await receiver.idle();
    expect(await value("job_wait_seconds_count")).toBe(3);
  });

  test("time a handler's calls in seconds", async () => {
    const { receiver, send, pass, value } = watched();
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(7_000);
    last().end();
    await receiver.idle();
    expect(await value("handler_duration_seconds_sum")).toBe(7);
    expect(await value("handler_duration_seconds_bucket", { le: "5" })).toBe(0);
    expect(await value("handler_duration_seconds_bucket", { le: "10" })).toBe(1);
  });

  test("tell the inbox, its lanes, the role and the problems as health() does", async () => {
    const { receiver, send, pass, value } = watched();
    receiver.on("email", () => {
      throw new Error("no");
    });
    expect(await value("role", { role: "receiving" })).toBe(1);
    await receiver.start();
    await send();
    await send(bookingBody("e-1"));
    await pass(400);
    expect(await value("inbox_waiting_jobs")).toBe(1);
    expect(await value("inbox_oldest_waiting_seconds")).toBe(0.4);
    expect(await value("blocked_lanes")).toBe(1);
    expect(await value("inbox_unhandled_jobs")).toBe(1);
    expect(await value("problem", { code: "lanes-blocked" })).toBe(1);
    expect(await value("problem", { code: "disk-low" })).toBeUndefined();
    expect([await value("live"), await value("ready"), await value("stuck_handlers")]).toEqual([1, 1, 0]);
    expect(await value("role", { role: "working" })).toBe(1);
    expect(await value("role", { role: "receiving" })).toBe(0);
    await receiver.close({ drainMs: 0 });
    expect(await value("ready")).toBe(0);
  });

  test("have one series for a problem of many", async () => {
    const { receiver, send, metrics } = watched();
    receiver.on("*", () => {});
    await receiver.start();
    for (const subscription of [1, 2, 3]) await send(lifecycleBody("error", { subscription }));
    await receiver.idle();
    const problems = seriesOf(await metrics.text()).filter(({ name }) => name === "hookline_problem");
    expect(problems.map(({ labels }) => labels)).toEqual([{ code: "subscription-errored" }]);
  });

  test("count bodies in flight, gaps and unsubscribes", async () => {
    const stores: (() => void)[] = [];
    const inbox = stubInbox((own) => ({
      store: (all) => new Promise((resolve) => void stores.push(() => resolve(own.store(all)))),
    }));
    const { receiver, send, offer, pass, value } = watched({ inbox });
    receiver.on("*", () => {});
    await receiver.start();
    const body = bodyOf();
    const sent = send(body);
    await pass();
    expect(await value("in_flight_bytes")).toBe(body.length);
    stores.shift()?.();
    await sent;
    expect(await value("in_flight_bytes")).toBe(0);
    const notices = [send(lifecycleBody("error")), pass().then(() => stores.shift()?.())];
    await Promise.all(notices);
    expect(await value("gaps_total")).toBe(1);
    const ends = [send(lifecycleBody("active")), pass().then(() => stores.shift()?.())];
    await Promise.all(ends);
    expect(await value("gaps_total")).toBe(1);
    await receiver.unsubscribe(1001, "gone");
    expect(await offer(body)).toMatchObject({ status: 422 });
    expect(await value("unsubscribed_total")).toBe(2);
    expect(await value("requests_total", { status: "422" })).toBe(1);
  });

  test("tell workers and shards where many processes work", async () => {
    const workers = { alive: 3, share: 22 / 64, shards: 22 };
    const { receiver, value } = watched({
      inbox: stubInbox((own) => ({ stats: () => ({ ...own.stats(), workers }) })),
    });
    await receiver.start();
    expect([await value("workers"), await value("shards")]).toEqual([3, 22]);
  });

  test("tell how many jobs a pause holds, and of how many accounts something is paused", async () => {
    const { receiver, send, value } = watched();
    receiver.on("email", () => {}, { consumer: "crm" });
    await receiver.start();
    expect([await value("inbox_paused_jobs"), await value("paused_accounts")]).toEqual([0, 0]);
    await receiver.flow.pause({ consumer: "crm" }, { reason: "a migration" });
    expect(await value("paused_accounts")).toBe(0);
    for (const consumer of ["crm", "search"])
      await receiver.flow.pause({ consumer, accountId: 2002 }, { reason: "asked for" });
    await receiver.flow.pause({ accountId: 2003 }, { reason: "asked for" });
    await send();
    await expect.poll(() => value("inbox_paused_jobs")).toBe(1);
    expect(await value("paused_accounts")).toBe(2);
  });

  test("leave out what cannot be had", async () => {
    const inbox = ["inbox_waiting_jobs", "inbox_oldest_waiting_seconds", "inbox_dead_jobs", "inbox_unhandled_jobs"];
    const missing = async (text: Promise<string>): Promise<readonly string[]> => {
      const found = await text;
      return inbox.concat("blocked_lanes").filter((name) => valueIn(found, name) === undefined);
    };
    const all = inbox.concat("blocked_lanes");
    const opened = watched();
    await opened.receiver.start();
    expect(await missing(opened.metrics.text())).toEqual([]);
    for (const name of ["inbox_free_bytes", "workers", "shards"]) expect(await opened.value(name)).toBeUndefined();
    const unpausable = watched({ inbox: stubInbox(() => ({ pauses: undefined })) });
    await unpausable.receiver.start();
    expect(await unpausable.value("inbox_waiting_jobs")).toBe(0);
    expect(await unpausable.value("paused_accounts")).toBeUndefined();
    await opened.receiver.close();
    expect(await missing(opened.metrics.text())).toEqual(all);
    const broken = watched({
      inbox: stubInbox(() => ({
        stats() {
          throw new Error("cannot count");
        },
      })),
    });
    await broken.receiver.start();
    expect(await missing(broken.metrics.text())).toEqual(all);
    const opening = watched({ inbox: stubInbox(() => ({ open: () => new Promise(() => {}) })) });
    expect(await missing(opening.metrics.text())).toEqual(all);
    const forwarding = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
    onTestFinished(() => void forwarding.close());
    expect(await missing(prometheusMetrics(forwarding).text())).toEqual(all);
  });

  test("read no storage", async () => {
    let reads = 0;
    const counted = <T>(of: T): T =>
      new Proxy(of as object, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function"
            ? (...args: unknown[]) => ((reads += 1), member.apply(target, args))
            : member;
        },
      }) as T;
    const { receiver, send, metrics } = watched({
      inbox: stubInbox((own) => ({ jobs: counted(own.jobs), gaps: counted(own.gaps), store: counted(own).store })),
    });
    receiver.on("email", () => {});
    await receiver.start();
    await send();
    await receiver.idle();
    const before = reads;
    for (let scrape = 0; scrape < 10; scrape += 1) await metrics.text();
    expect(before).toBeGreaterThan(0);
    expect(reads).toBe(before);
  });

  test("count handlers of a queue's consumer, and before the answer", async () => {
    const receiver = createReceiver({ secret: "secret", inbox: forwardInbox(async () => {}), log: false });
    onTestFinished(() => void receiver.close());
    const metrics = prometheusMetrics(receiver);
    let fails = false;
    receiver.on("email", () => {
      if (fails) throw new Error("no");
    });
    const stored = toStored("d-1", makeDelivery());
    await receiver.handle(stored);
    fails = true;
    await expect(receiver.handle(stored)).rejects.toThrow("1 of the delivery's handlers failed");
    const text = await metrics.text();
    expect(valueIn(text, "jobs_finished_total", { outcome: "done" })).toBe(1);
    expect(valueIn(text, "attempts_failed_total")).toBe(1);
    expect(valueIn(text, "handler_duration_seconds_count")).toBe(2);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 1 });
  });

  test.skipIf(noPromtool)("pass promtool's check, alone and behind those of prom-client", async () => {
    const { receiver, send, metrics } = watched({ metrics: { labels: { team: 'mail "\\\n é' } } });
    receiver.on("email", () => {});
    await receiver.start();
    await send();
    await receiver.idle();
    const register = new Registry();
    new Counter({ name: "mine_total", help: "Mine.", registers: [register] }).inc();
    const own = await metrics.text();
    for (const text of [own, `${await register.metrics()}\n${own}`, `${own}${await register.metrics()}`]) {
      const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
      expect([status, stdout, stderr]).toEqual([0, "", ""]);
    }
    expect(own).toContain('hookline_live{team="mail \\"\\\\\\n é"} 1\n');
    expect(metrics.contentType).toBe(register.contentType);
  });
});

describe("prometheusMetrics", () => {
  const make = (options?: unknown): unknown => {
    const receiver: Receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: false });
    return prometheusMetrics(receiver, options as PrometheusOptions);
  };

  test.each([
    ["a-b", '"a-b"'],
    ["1a", '"1a"'],
    ["é_", '"é_"'],
    [7, "7"],
    [null, "null"],
  ])("refuses %j as prefix", (prefix, got) => {
    expect(() => make({ prefix })).toThrow(
      expect.objectContaining({ code: "metrics-prefix", message: expect.stringContaining(`got ${got} as prefix`) }),
    );
  });

  test.each([
    [{ "a-b": "x" }, 'the label "a-b"'],
    [{ __own: "x" }, 'the label "__own"'],
    [{ "": "x" }, 'the label ""'],
    [{ "a:b": "x" }, 'the label "a:b"'],
    [{ type: "x" }, 'the label "type", which metrics have of their own'],
    [{ le: "x" }, 'the label "le", which metrics have of their own'],
    [{ team: 7 }, '7 for the label "team"'],
    [{ team: undefined }, 'undefined for the label "team"'],
    [{ team: "\uD800" }, 'broken Unicode for the label "team"'],
    [["team"], "a list as labels"],
    ["team", "a text as labels"],
  ])("refuses %j as labels", (labels, got) => {
    expect(() => make({ labels })).toThrow(
      expect.objectContaining({ code: "metrics-label", message: expect.stringContaining(`got ${got}`) }),
    );
  });

  test("takes another prefix, or none, and options that are undefined", async () => {
    for (const [prefix, name] of [
      ["mail:", "mail:live 1\n"],
      ["", "\nlive 1\n"],
      [undefined, "hookline_live 1\n"],
    ])
      expect(await (make({ prefix, labels: undefined }) as { text(): Promise<string> }).text()).toContain(name);
    expect(() => make({ prefixes: "x" })).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });

  test("is called once for a receiver, and again after close()", async () => {
    const { receiver, send, metrics, value } = watched();
    expect(() => prometheusMetrics(receiver)).toThrow(expect.objectContaining({ code: "metrics-doubled" }));
    metrics.close();
    metrics.close();
    await send();
    expect(await value("request_duration_seconds_count")).toBe(0);
    const next = prometheusMetrics(receiver);
    metrics.close();
    await send();
    expect(valueIn(await next.text(), "request_duration_seconds_count")).toBe(1);
    expect(() => prometheusMetrics({} as Receiver)).toThrow(expect.objectContaining({ code: "receiver-invalid" }));
  });
});

const CHANGES = ["created", "updated", "deleted"];

/** Every metric with its labels: a new label is decided here. */
const LABELS = [
  "hookline_requests_total status",
  "hookline_request_duration_seconds_bucket status,le",
  "hookline_request_duration_seconds_sum status",
  "hookline_request_duration_seconds_count status",
  "hookline_refused_total code",
  "hookline_deliveries_stored_total ",
  "hookline_store_duration_seconds_bucket le",
  "hookline_store_duration_seconds_sum ",
  "hookline_store_duration_seconds_count ",
  "hookline_duplicates_total ",
  "hookline_unsubscribed_total ",
  "hookline_gaps_total ",
  "hookline_jobs_finished_total consumer,type,outcome",
  "hookline_attempts_failed_total consumer,type",
  "hookline_handler_duration_seconds_bucket consumer,le",
  "hookline_handler_duration_seconds_sum consumer",
  "hookline_handler_duration_seconds_count consumer",
  "hookline_job_wait_seconds_bucket consumer,le",
  "hookline_job_wait_seconds_sum consumer",
  "hookline_job_wait_seconds_count consumer",
  "hookline_inbox_waiting_jobs ",
  "hookline_inbox_oldest_waiting_seconds ",
  "hookline_inbox_dead_jobs ",
  "hookline_inbox_unhandled_jobs ",
  "hookline_inbox_paused_jobs ",
  "hookline_blocked_lanes ",
  "hookline_paused_accounts ",
  "hookline_stuck_handlers ",
  "hookline_in_flight_bytes ",
  "hookline_live ",
  "hookline_ready ",
  "hookline_role role",
];
