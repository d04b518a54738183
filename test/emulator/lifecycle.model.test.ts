import fc from "fast-check";
import { expect, test } from "vitest";
import { createEmulatedService, type EmulatedService } from "../../src/emulator/emulated-service.ts";
import type { EmulatedAccount } from "../../src/emulator.ts";

/** Protocol 3, the lifecycle of a webhook subscription, as a table: what each trigger makes of a state, and what is sent. */
const TABLE: Readonly<Record<State, Readonly<Record<Trigger, readonly [State, string?]>>>> = {
  active: {
    expire: ["errored", "error"],
    restore: ["active"],
    refused: ["removed"],
    delete: ["removed"],
    change: ["active", "change"],
  },
  errored: {
    expire: ["errored"],
    restore: ["active", "active"],
    refused: ["removed"],
    delete: ["removed"],
    change: ["errored"],
  },
  removed: {
    expire: ["removed"],
    restore: ["removed"],
    refused: ["removed"],
    delete: ["removed"],
    change: ["removed"],
  },
};

type State = "active" | "errored" | "removed";
type Trigger = "expire" | "restore" | "refused" | "delete" | "change";

function rowOf(state: State, trigger: Trigger): readonly [State, string?] {
  return TABLE[state][trigger];
}

const TRIGGERS = Object.keys(TABLE.active) as Trigger[];

test("a subscription lives as protocol 3 says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...TRIGGERS), { maxLength: 12 }), async (triggers) => {
      const world = await createWorld();
      let state: State = "active";
      for (const trigger of triggers) {
        const [next, sends] = rowOf(state, trigger);
        // 422 is an answer: of a removed subscription there is nothing to answer.
        const sent: readonly string[] = await world.pull(trigger, state);
        expect(sent, `${trigger} of ${state}`).toEqual(
          trigger === "refused" && state !== "removed" ? ["any"] : sends === undefined ? [] : [sends],
        );
        state = next;
        expect(world.state(), `${trigger} to ${state}`).toBe(state);
      }
      await world.service.close();
    }),
    { numRuns: 300 },
  );
});

interface World {
  readonly service: EmulatedService;
  pull(trigger: Trigger, state: State): Promise<readonly string[]>;
  state(): State;
}

/** A service whose receiver is a function. */
async function createWorld(): Promise<World> {
  let sent: string[] = [];
  let status = 200;
  const service = createEmulatedService(
    { clock: "virtual" },
    {
      transport: {
        async send({ url, body }) {
          const token = new URL(url).searchParams.get("validationToken");
          if (token !== null) return { status: 200, headers: {}, body: token };
          const { lifecycleEvent } = JSON.parse(Buffer.from(body as Uint8Array).toString()) as {
            lifecycleEvent?: string;
          };
          sent.push(status === 422 ? "any" : (lifecycleEvent ?? "change"));
          return { status, headers: {}, body: "" };
        },
        close() {},
      },
    },
  );
  const account: EmulatedAccount = await service.account();
  const subscription = await service.subscribe(account.accountId, {
    resource: "/email/messages",
    notificationUrl: "http://127.0.0.1:3000/",
  });
  const pulls: Readonly<Record<Trigger, (state: State) => unknown>> = {
    expire: () => account.expireCredentials(),
    restore: () => account.restoreCredentials(),
    refused(state) {
      status = 422;
      return state === "removed" ? undefined : service.emit(subscription.id, []);
    },
    delete: () => service.unsubscribe(subscription),
    change: () => account.receiveMail(),
  };
  return {
    service,
    async pull(trigger, state) {
      sent = [];
      await pulls[trigger](state);
      await service.settled();
      status = 200;
      return sent;
    },
    state() {
      if (!service.subscriptions.has(subscription.id)) return "removed";
      const { active, failSince, failDescription } = subscription;
      expect([failSince !== undefined, failDescription !== undefined]).toEqual([!active, !active]);
      return active ? "active" : "errored";
    },
  };
}
