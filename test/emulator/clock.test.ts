import { describe, expect, test } from "vitest";
import { createEmulatedService } from "../../src/emulator/emulated-service.ts";
import { createVirtualClock } from "../../src/emulator/virtual-clock.ts";
import { testClock } from "../../src/testing.ts";
import { DAY_MS, serve, startEmulator, startPair } from "./support.ts";

const atOnce = async (): Promise<void> => {};

describe("a virtual clock", () => {
  test("runs timers in the order of their time, of one time in the order in which they were set, new ones too", async () => {
    const clock = createVirtualClock(0);
    const ran: string[] = [];
    const set = (name: string, ms: number, run = (): void => {}): void =>
      void clock.setTimer(() => {
        ran.push(`${name}@${clock.now()}`);
        run();
      }, ms);
    set("c", 30);
    set("a", 10, () => set("b", 20));
    set("d", 30);
    clock.setTimer(() => ran.push("cleared"), 5).clear();
    set("late", 31);
    await clock.advance(30, atOnce);
    expect(ran).toEqual(["a@10", "c@30", "d@30", "b@30"]);
    expect(clock.now()).toBe(30);
  });

  test("waits before each timer, and a second call for the first one", async () => {
    const clock = createVirtualClock(0);
    const order: string[] = [];
    clock.setTimer(() => order.push("timer"), 1);
    const quiet = async (): Promise<void> => {
      order.push("quiet?");
      await new Promise((resolve) => setImmediate(resolve));
      order.push("quiet");
    };
    await Promise.all([clock.advance(1, quiet), clock.advance(1, quiet)]);
    expect(order).toEqual(["quiet?", "quiet", "timer", "quiet?", "quiet", "quiet?", "quiet"]);
    expect(clock.now()).toBe(2);
  });
});

describe("emulator.advance", () => {
  test("waits for real answers between two steps", async () => {
    const { emulator, receiver, account } = await startPair();
    receiver.answers.push(503, 503, 503);
    await account.receiveMail();
    await emulator.advance(DAY_MS);
    expect(receiver.received).toHaveLength(4);
    expect(emulator.clock.now()).toBe(Date.parse("2026-01-03T03:04:05Z"));
  });

  test("lets an attempt without an answer count as timed out after 5 s of real time", async () => {
    const { emulator, receiver, account } = await startPair();
    receiver.answers.push("hang");
    await account.receiveMail();
    const since = performance.now();
    await emulator.advance(1_000);
    expect(performance.now() - since).toBeGreaterThan(4_900);
    expect(emulator.journal.map(({ failure, status }) => failure ?? status)).toEqual([
      "no answer in 5 s of real time, for which the virtual clock waits",
      200,
    ]);
  });

  test("ends although a body begins to wait for the clock after the other answers have come", async () => {
    const later = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    const service = createEmulatedService(
      { clock: "virtual" },
      {
        transport: {
          async send({ url, body }) {
            const token = new URL(url).searchParams.get("validationToken");
            if (token === null && !(body instanceof Uint8Array)) {
              await later(5);
              for await (const _ of body);
            }
            return { status: 200, headers: {}, body: token ?? "" };
          },
          close() {},
        },
      },
    );
    const { accountId } = await service.account();
    const notificationUrl = "http://127.0.0.1:3000/";
    const quick = await service.subscribe(accountId, { resource: "/contacts", notificationUrl });
    const slow = await service.subscribe(accountId, { resource: "/email/messages", notificationUrl });
    service.fault(slow.id, "slow-body");
    await service.emit(quick.id, []);
    await service.emit(slow.id, []);
    await service.advance(20_000);
    expect(service.journal.map(({ subscription }) => subscription)).toEqual([quick.id, slow.id]);
  });

  test("takes answers in the order of sending, whichever receiver is faster", async () => {
    const emulator = await startEmulator();
    let answerFirst: (() => void) | undefined;
    const { url } = await serve((request, response) => {
      const token = new URL(request.url ?? "", "http://localhost").searchParams.get("validationToken");
      request.resume();
      request.on("end", () => {
        if (token !== null || answerFirst !== undefined) {
          response.end(token ?? "");
          answerFirst?.();
        } else answerFirst = () => void response.end();
      });
    });
    const account = await emulator.account();
    const first = await emulator.subscribe(account, "/contacts", url);
    const second = await emulator.subscribe(account, "/email/messages", url);
    await emulator.emit(first, []);
    await emulator.emit(second, []);
    await emulator.settled();
    expect(emulator.journal.map(({ subscription }) => subscription)).toEqual([first, second]);
  });

  test("throws under the real clock, under one of the user's, and for what is no time", async () => {
    for (const clock of ["real", testClock()] as const) {
      const emulator = await startEmulator({ clock });
      await expect(emulator.advance(1)).rejects.toMatchObject({ code: "clock-not-virtual" });
    }
    const emulator = await startEmulator();
    await expect(emulator.advance(-1)).rejects.toMatchObject({ code: "option-invalid" });
    await expect(emulator.advance(NaN)).rejects.toMatchObject({ code: "option-invalid" });
  });

  test("settled waits for what is under way and due now, not for what is due later", async () => {
    const { emulator, receiver, account } = await startPair({ clock: "real" });
    receiver.answers.push(503);
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.subscriptions[0]).toMatchObject({ waiting: 1 });
    expect(emulator.subscriptions[0]?.nextAttemptAt?.getTime()).toBeGreaterThan(Date.now());
    expect(emulator.attempts).toBe(1);
  });
});
