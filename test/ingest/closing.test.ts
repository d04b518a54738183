import { describe, expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { dial, headersText } from "../support/http.ts";
import { changes, expectBare, mounted } from "../support/mounted.ts";
import { hungInbox, stubInbox } from "../support/stub-inboxes.ts";

/** An inbox that stores when the test lets it, and records its calls. */
function patientInbox() {
  const asked: string[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const inbox = stubInbox((own) => ({
    store: async (all) => {
      asked.push("store");
      await released;
      const stored = await own.store(all);
      asked.push("stored");
      return stored;
    },
    close: async () => {
      asked.push("close");
      await own.close();
    },
  }));
  return { inbox, asked, release: () => release() };
}

describe("while the receiver closes", () => {
  test("a delivery that the gate was still asked about gets 503, and nothing is stored of it", async () => {
    let asked = false;
    let answer = (): void => {};
    const { deliver, receiver } = await mounted({
      prepare: (own) =>
        void own.unsubscribeWhen(() => {
          asked = true;
          return new Promise<void>((resolve) => (answer = resolve));
        }),
    });
    const reply = deliver();
    await eventually(() => expect(asked).toBe(true));
    await receiver.close();
    answer();
    expectBare(await reply, 503, "retry-after");
    expect(receiver.stats().refused).toEqual({ closing: 1 });
  });

  test("a delivery that is being stored gets its 200, and the inbox is closed only then", async () => {
    const { inbox, asked, release } = patientInbox();
    const { deliver, receiver } = await mounted({ inbox });
    const answer = deliver();
    await eventually(() => expect(asked).toEqual(["store"]));
    const closing = receiver.close();
    expectBare(await deliver(), 503, "retry-after");
    release();
    expectBare(await answer, 200);
    await closing;
    expect(asked).toEqual(["store", "stored", "close"]);
    expect(receiver.stats()).toMatchObject({ stored: 1, refused: { closing: 1 } });
  });

  test("a delivery whose body is still coming gets 503", async () => {
    const { port, signed, receiver, bytesReceived: taken } = await mounted();
    const body = changes();
    const most = headersText({ ...signed(body), "Content-Length": String(body.length) }) + body.slice(0, -1);
    const wire = await dial(port);
    wire.write(most);
    await eventually(() => expect(taken()).toBe(most.length));
    await receiver.close();
    wire.write(body.slice(-1));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: \d+/i));
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { closing: 1 } });
  });

  test("a delivery of an unwanted subscription gets 503: nothing is deleted any more", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    await receiver.close();
    expectBare(await deliver(), 503, "retry-after");
  });

  test("a commit that hangs does not hold it beyond its budget", async () => {
    const clock = fakeClock();
    const { deliver, receiver } = await mounted({ clock, inbox: hungInbox(), gaps: false });
    const answer = deliver();
    await eventually(() => expect(receiver.stats().secrets).toHaveLength(1));
    await eventually(() => expect(clock.waiting).toBe(2));
    const ended = vi.fn();
    void receiver.close({ drainMs: 10_000 }).then(ended);
    await clock.advance(10_000);
    expectBare(await answer, 503, "retry-after");
    await eventually(() => expect(ended).toHaveBeenCalled());
  });

  test("a delivery that waits for the inbox to open is refused for the close, and not for a failure of the inbox", async () => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const asked = vi.fn();
    const inbox = stubInbox((own) => ({
      async open(host) {
        asked();
        await opened;
        await own.open(host);
      },
    }));
    const { deliver, receiver, log } = await mounted({ inbox });
    const answer = deliver();
    await eventually(() => expect(asked).toHaveBeenCalled());
    const closing = receiver.close();
    open();
    expectBare(await answer, 503, "retry-after");
    await closing;
    expect(receiver.stats().refused).toEqual({ closing: 1 });
    expect(log.of("storage-failed")).toEqual([]);
  });

  test("an inbox that was never opened is not closed", async () => {
    const { inbox, asked } = patientInbox();
    const { deliver, receiver } = await mounted({ inbox });
    expect(await deliver("", { target: "/?validationToken=t" })).toMatchObject({ status: 200 });
    await receiver.close();
    expect(asked).toEqual([]);
  });

  test("start() is refused", async () => {
    const { receiver } = await mounted();
    await receiver.close();
    await expect(receiver.start()).rejects.toMatchObject({ code: "closed" });
  });
});
