import { GiveUp } from "../../../src/dispatch/retries/retry-errors.ts";
import { forwardInbox } from "../../../src/inbox/forward-inbox.ts";
import type { StoredDelivery } from "../../../src/inbox/port/delivery.ts";
import { createReceiver } from "../../../src/receiver/create-receiver.ts";
import type { Receiver } from "../../../src/receiver/receiver-types.ts";
import type { ProbedApp } from "./http-subject.ts";

/** What a receiver under test tells the suite, as the JSON body of a POST. */
export type Told = { readonly stored: readonly StoredDelivery[] } | { readonly handled: string };

/** The subscription that the gate of {@link createProbedReceiver} answers 422. */
export const UNWANTED = 4220;

/** The ids of records that its handler does not simply handle. */
export const RECORD = { fails: "fails", givesUp: "gives-up", late: "late" } as const;

/**
 * The receiver that {@link checkHttpAdapter} expects behind a mount, for a mount that runs in another process or runtime: what
 * it keeps and handles it tells the suite by HTTP.
 *
 * @param app what `serve` of the subject got, as it came back from JSON
 * @example
 * const app = JSON.parse(process.env.PROBED_APP);
 * createServer(myReceiver(createProbedReceiver(app), app.options)).listen(0);
 */
export function createProbedReceiver(app: Omit<ProbedApp, "receiver" | "options">): Receiver<"network"> {
  const { secret, tell, storeTimeoutMs } = app;
  const inbox = forwardInbox((stored) => post(tell, { stored }));
  const receiver = createReceiver({ secret, inbox, log: false, storeTimeoutMs });
  receiver.unsubscribeWhen(({ subscription }, unsubscribe) =>
    subscription === UNWANTED ? unsubscribe("The suite asks for it.") : undefined,
  );
  return receiver.on("email.created", async ({ id }, { signal }) => {
    // The status is one that a framework's error handler would send.
    if (id === RECORD.fails) throw Object.assign(new Error("The suite asks for it."), { status: 422, statusCode: 422 });
    if (id === RECORD.givesUp) throw new GiveUp("The suite asks for it.");
    if (id === RECORD.late) await aborted(signal);
    await post(tell, { handled: id });
  });
}

async function post(tell: string, told: Told): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(tell, { method: "POST", headers, body: JSON.stringify(told) });
  if (!response.ok) throw new Error(`The suite answered ${response.status}.`);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
