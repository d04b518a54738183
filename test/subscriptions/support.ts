import { createReceiver, memoryInbox, type Id, type Inbox, type Receiver, type ReceiverOptions } from "hookline";
import { clients, type ClientOptions } from "hookline/client";
import { nodeReceiver } from "hookline/node";
import type { ClientOf, Desired } from "hookline/subscriptions";
import { onTestFinished } from "vitest";
import type { EmulatedAccount, Emulator } from "../../src/emulator.ts";
import { serve, startEmulator } from "../emulator/support.ts";

export const MAIL = "/email/messages";
export const EVENTS = "/calendars/primary/events";

/** The service, and a receiver that listens. */
export interface World {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  /** Of the receiver. */
  readonly url: string;
  readonly account: EmulatedAccount;
  readonly clientOf: ClientOf;
  /** Of the first account. */
  desired(resource?: string, more?: Partial<Desired>): Desired;
  /** What the service has, as "resource url". */
  existing(): readonly string[];
}

export async function startWorld(options: Partial<ReceiverOptions> = {}): Promise<World> {
  const emulator = await startEmulator();
  const account = await emulator.account();
  const { receiver, url } = await startReceiver({ secret: emulator.secret, clock: emulator.clock, ...options });
  return {
    emulator,
    receiver,
    url,
    account,
    clientOf: clientsOf(emulator, [account]),
    desired: (resource = MAIL, more = {}) => ({
      accountId: account.accountId,
      resource,
      notificationUrl: url,
      ...more,
    }),
    existing: () => emulator.subscriptions.map(({ resource, notificationUrl }) => `${resource} ${notificationUrl}`),
  };
}

/** A receiver that listens on a socket, and ends with the test. */
export async function startReceiver(
  options: Partial<ReceiverOptions>,
): Promise<{ readonly receiver: Receiver; readonly url: string }> {
  const inbox: Inbox = options.inbox ?? memoryInbox();
  const receiver: Receiver = createReceiver({ secret: "s", log: false, ...options, inbox });
  onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
  const { url } = await serve(nodeReceiver(receiver, { path: "/webhooks" }));
  return { receiver, url };
}

/** Clients of these accounts, which neither wait nor repeat. */
export function clientsOf(
  { url }: Pick<Emulator, "url">,
  accounts: readonly Pick<EmulatedAccount, "accountId" | "token">[],
  options: Partial<ClientOptions> = {},
): ClientOf {
  const tokens = new Map<Id, string>(accounts.map(({ accountId, token }) => [accountId, token]));
  return clients((accountId) => ({
    baseUrl: url,
    token: tokens.get(accountId) ?? "no-such-token",
    rateLimit: false,
    retry: false,
    ...options,
  }));
}

/** A port that nothing listens on: it was just freed. */
export async function deadUrl(): Promise<string> {
  const { url, close } = await serve(() => {});
  await close();
  return url;
}
