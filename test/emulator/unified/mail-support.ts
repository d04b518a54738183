import {
  accountOf,
  createApplication,
  createClient,
  draftsOf,
  draftTrackingOf,
  foldersOf,
  trackingOf,
} from "../../../src/client.ts";
import type { EmulatorOptions } from "../../../src/emulator.ts";
import { startPair } from "../support.ts";

/** An account that has subscribed, with a client and all of its parts. */
export async function startMail(options: EmulatorOptions = {}, resource = "/email/messages") {
  const { emulator, receiver, account, id } = await startPair(options, resource);
  const client = createClient({ token: account.token, baseUrl: emulator.url, rateLimit: false, retry: false });
  const { appId: clientId, appSecret: clientSecret } = emulator;
  return {
    emulator,
    receiver,
    account,
    subscription: id,
    client,
    folders: foldersOf(client),
    drafts: draftsOf(client),
    draftTracking: draftTrackingOf(client),
    tracking: trackingOf(client),
    own: accountOf(client),
    application: createApplication({ clientId, clientSecret, baseUrl: emulator.url, retry: false }),
    /** Entries of `payloads`, and notices, that the receiver has got since it was asked last. */
    async notified(): Promise<readonly Record<string, unknown>[]> {
      await emulator.settled();
      return receiver.received.splice(0).flatMap(({ body }) => {
        const { payloads, ...notice } = JSON.parse(body) as Record<string, unknown>;
        return Array.isArray(payloads) ? (payloads as Record<string, unknown>[]) : [notice];
      });
    },
  };
}

/** All records of a list. */
export async function all<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const records: T[] = [];
  for await (const record of list) records.push(record);
  return records;
}
