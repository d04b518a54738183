import fc from "fast-check";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { createClient } from "hookline/client";
import { nodeReceiver } from "hookline/node";
import { deltaSync, memoryTokens } from "hookline/sync";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createEmulator } from "../../src/emulator.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { eventually } from "../support/eventually.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const MINUTE_MS = 60_000;
const RUNS = 60;

type Step =
  | { readonly do: "add" | "remove" | "stop" | "start" | "break" | "mend" | "expire" | "restore" }
  | { readonly do: "pass"; readonly minutes: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("add" as const, "remove" as const).map((name) => ({ do: name })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom("stop", "start", "break", "mend", "expire", "restore").map((name) => ({ do: name })),
  },
  // The service gives up after half an hour.
  {
    weight: 3,
    arbitrary: fc.constantFrom(1, 8, 12, 45).map((minutes) => ({ do: "pass" as const, minutes })),
  },
);

/** A mailbox, and a receiver on one inbox and one port that comes and goes. */
async function createOutages() {
  const emulator = await createEmulator({
    port: 0,
    clock: "virtual",
    redelivery: { giveUpAfter: 12 },
    deltaSync: { readyAfterMs: 0, tokenLifeMs: 30 * 24 * 60 * MINUTE_MS },
  });
  const account = await emulator.account();
  const client = createClient({ baseUrl: emulator.url, token: account.token, retry: false, rateLimit: false });
  const tokens = memoryTokens();
  const copy = new Set<string>();
  const mailbox = new Set<string>();
  const stored = memoryInbox() as WorkingInbox<"memory">;
  let isBroken = false;
  let running: Receiver | undefined;
  const server = createServer((request, response) => {
    if (running === undefined) request.socket.destroy();
    else nodeReceiver(running)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  async function start(): Promise<void> {
    if (running !== undefined) return;
    const inbox = stubInbox(() => ({
      ...stored,
      store: (deliveries) => (isBroken ? Promise.reject(new Error("EIO")) : stored.store(deliveries)),
    }));
    const receiver = createReceiver({ secret: emulator.secret, inbox, clock: emulator.clock, log: false });
    deltaSync(receiver, "email", {
      client: () => client,
      tokens,
      apply: async (records) => records.forEach(({ id }) => copy.add(id)),
      remove: async (ids) => ids.forEach((id) => copy.delete(id)),
      known: () => copy,
    });
    await receiver.start();
    running = receiver;
  }

  async function stop(): Promise<void> {
    const receiver = running;
    running = undefined;
    await receiver?.close({ drainMs: 0 });
  }

  const steps: Readonly<Record<Exclude<Step["do"], "pass">, () => unknown>> = {
    add: async () => mailbox.add((await account.receiveMail()).id),
    async remove() {
      const [id] = mailbox;
      if (id === undefined) return;
      mailbox.delete(id);
      await account.remove("/email/messages", id);
    },
    stop,
    start,
    break: () => void (isBroken = true),
    mend: () => void (isBroken = false),
    expire: () => account.expireCredentials(),
    restore: () => account.restoreCredentials(),
  };

  await start();
  await emulator.subscribe(account, "/email/messages", `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  // A resource is known from its first delivery on.
  await steps.add();
  await emulator.settled();
  await eventually(() => expect(copy.size).toBe(1));
  return {
    async step(step: Step): Promise<void> {
      if (step.do === "pass") await emulator.advance(step.minutes * MINUTE_MS);
      else await steps[step.do]();
      await emulator.settled();
    },
    async expectInStep(): Promise<void> {
      for (const name of ["mend", "restore", "start"] as const) await steps[name]();
      await emulator.advance(15 * MINUTE_MS);
      await running?.idle();
      await eventually(() => expect(copy).toEqual(mailbox));
    },
    async end(): Promise<void> {
      await stop();
      server.close();
      await emulator.close();
    },
  };
}

test("whatever outage, refusal and loss of access there was, the copy equals the mailbox a quarter of an hour after the last of them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 4, maxLength: 14 }), async (steps) => {
      const outages = await createOutages();
      try {
        for (const step of steps) await outages.step(step);
        await outages.expectInStep();
      } finally {
        await outages.end();
      }
    }),
    {
      numRuns: RUNS,
      // The notice that the subscription works again is given up while no process is there, and nothing comes after it.
      examples: [[[{ do: "expire" }, { do: "add" }, { do: "stop" }, { do: "restore" }, { do: "pass", minutes: 45 }]]],
    },
  );
});
