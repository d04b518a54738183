import { kindOf } from "../assert.ts";
import { ClosedError, fixOf, HooklineError, SignatureError, StorageError, UsageError } from "../errors.ts";
import { fromStored, type IdentifiedDelivery, type StoredDelivery } from "../inbox/port/delivery.ts";
import { parseDocument, type Document } from "../protocol/envelope.ts";
import { headerOf } from "../protocol/headers.ts";
import type { Key } from "../protocol/signature/secrets.ts";
import { matchKey } from "../protocol/signature/sign.ts";
import { readSignature, readTimestamp, SIGNATURE_PROBLEMS } from "../protocol/signature/signature-headers.ts";
import { tally, type Counters } from "../observe/counters.ts";
import { mayHaveTombstones, reasonOfTombstone } from "./find-tombstone.ts";
import { isRefusalCode, REFUSALS, Refused, type RefusalCode } from "./refusals.ts";
import type { SecretRequest } from "./secret-lookup.ts";
import { toRefused } from "./store.ts";
import type { Admitted, IngestDeps } from "./types.ts";

/** `receiver.accept`: deliveries that a queue in front brings, into this receiver's inbox. */
export type Accept = (deliveries: readonly StoredDelivery[]) => Promise<readonly PromiseSettledResult<void>[]>;

export interface AcceptDeps extends Pick<
  IngestDeps,
  "scheme" | "secrets" | "closing" | "opened" | "tombstones" | "store" | "reporter" | "log"
> {
  readonly clock: IngestDeps["clock"];
  readonly counters: Pick<Counters, "refused">;
  /** What `health()` shows of the last minutes. */
  readonly refusals: { record(refused: Refused): void; stored(): void };
}

/** Decoded and in memory at once. */
const AT_ONCE = { deliveries: 500, bytes: 4 * 1024 * 1024 };

export function createAccept(deps: AcceptDeps): Accept {
  const { scheme, secrets, closing, opened, tombstones, store, reporter, log, clock, counters, refusals } = deps;

  /** @throws HooklineError why it is not to be stored */
  async function verify(stored: StoredDelivery): Promise<Admitted> {
    const delivery = fromStored(stored, scheme.signature.lowerCaseHeader, "accept");
    const found = secrets.keys(delivery.source, () => toSecretRequest(delivery));
    const keys = found instanceof Promise ? await found : found;
    if (keys instanceof Refused) throw toError(keys);
    const { name, signature, sentAt } = matched(delivery, keys);
    reporter.signedBy(name, clock.now());
    let document: Document | undefined;
    return {
      // What the signature does not cover is not believed.
      delivery: { ...delivery, signedBy: name, signature, sentAt: sentAt ?? delivery.receivedAt },
      document: () => (document ??= parseDocument(delivery.body)),
      // A queue that gives one id to two deliveries must not make one of them disappear.
      idInQueue: `${delivery.id} ${signature}`,
    } as unknown as Admitted;
  }

  /** Its age is not checked: it was when it was received. @throws SignatureError `signature-invalid` */
  function matched({ id, headers, body }: IdentifiedDelivery, keys: readonly Key[]) {
    const header = (name: string) => headerOf(headers, name);
    const signature = readSignature(scheme, header);
    const time = readTimestamp(scheme, header);
    const problem = typeof signature === "string" ? signature : typeof time === "string" ? time : "signature-wrong";
    if (typeof signature === "object" && typeof time === "object") {
      const key = matchKey(scheme, keys, { timestamp: time.timestamp, signature: signature.signature, body });
      if (key !== undefined) return { name: key.name, signature: signature.signatureText, sentAt: time.sentAtMs };
    }
    throw new SignatureError(
      "signature-invalid",
      `accept() got a delivery whose signature does not hold (${problem}, id ${JSON.stringify(id)}). ${SIGNATURE_PROBLEMS[problem].message}`,
      {
        fix: "Put it aside. If this receiver lacks a secret of the one in front, add it and deliver it again; else find what wrote it.",
      },
    );
  }

  /** A subscription that is not wanted: nothing is stored, and there is no request whose answer could delete it. */
  function isUnwanted({ delivery, document }: Admitted): boolean {
    const envelope = mayHaveTombstones(tombstones) ? document().envelope : undefined;
    const reason = envelope && reasonOfTombstone(envelope, delivery.source, deps);
    if (reason === undefined) return false;
    tally(counters.refused, "unwanted");
    const facts = { code: "unwanted", subscription: envelope?.subscription, source: delivery.source };
    log.warn({ ...facts, reason }, "a delivery from a queue is of an unwanted subscription: it is not stored");
    return true;
  }

  async function put(verified: PromiseSettledResult<Admitted>): Promise<void> {
    if (verified.status === "rejected") throw verified.reason;
    if (closing()) throw toError(new Refused("closing"));
    if (isUnwanted(verified.value)) return;
    const result = await store(verified.value);
    if (result instanceof Refused) throw toError(result);
    refusals.stored();
  }

  async function acceptTogether(deliveries: readonly StoredDelivery[]): Promise<readonly PromiseSettledResult<void>[]> {
    if (closing()) throw toError(new Refused("closing"));
    await opened();
    const verified = await Promise.allSettled(deliveries.map(verify));
    // All of them reach the store in one turn, in order.
    return Promise.allSettled(verified.map(put));
  }

  return async (deliveries) => {
    if (!Array.isArray(deliveries))
      throw new UsageError("delivery-invalid", `accept() got ${kindOf(deliveries)}, expected a list of deliveries.`);
    const results: PromiseSettledResult<void>[] = [];
    for (const part of partsOf(deliveries)) {
      try {
        results.push(...(await acceptTogether(part)));
      } catch (error) {
        const reason = error instanceof HooklineError ? error : toError(toRefused(error));
        results.push(...part.map(() => ({ status: "rejected" as const, reason })));
      }
    }
    for (const result of results) if (result.status === "rejected") report(result.reason);
    return results;
  };

  function report(reason: unknown): void {
    const { code = "internal", fix } = reason as Partial<HooklineError>;
    tally(counters.refused, code);
    const refusal = code === "signature-invalid" ? "signature-wrong" : code;
    if (isRefusalCode(refusal)) refusals.record(new Refused(refusal, reason));
    log.error({ code, fix, err: reason }, "a delivery from a queue was not accepted");
  }
}

function* partsOf(deliveries: readonly StoredDelivery[]): Generator<readonly StoredDelivery[]> {
  let [begin, bytes] = [0, 0];
  for (const [place, stored] of deliveries.entries()) {
    const size = 0.75 * (stored?.bodyBase64?.length ?? 0);
    if (place > begin && (place - begin >= AT_ONCE.deliveries || bytes + size > AT_ONCE.bytes)) {
      yield deliveries.slice(begin, place);
      [begin, bytes] = [place, 0];
    }
    bytes += size;
  }
  if (begin < deliveries.length) yield deliveries.slice(begin);
}

/** What is left of the request behind a queue. */
function toSecretRequest({ source, headers }: IdentifiedDelivery): SecretRequest {
  return {
    path: "",
    ...(source === undefined ? {} : { source }),
    query: new URLSearchParams(),
    header: (name) => {
      const value = headerOf(headers, name.toLowerCase());
      return value === undefined || typeof value === "string" ? value : value.join(", ");
    },
  };
}

const OF_STORAGE: ReadonlySet<RefusalCode> = new Set(["storage-failed", "storage-late", "inbox-full", "intake-full"]);

/** The queue may deliver it again. */
function toError({ code, cause }: Refused): HooklineError {
  const { message, fix } = REFUSALS[code];
  const options = { cause, fix: fixOf(cause) ?? fix };
  if (code === "closing") return new ClosedError("closed", "The receiver is closing: nothing was stored.", options);
  if (OF_STORAGE.has(code)) return new StorageError(code, message, options);
  return new HooklineError(code, message, options);
}

/** Behind `forwardInbox` is another queue. */
export async function refuseAccept(): Promise<never> {
  throw new UsageError("accept-forwards", "accept() was called on a receiver that stores nothing itself.", {
    fix: "Give the consumer's receiver an inbox that stores, such as `sqliteInbox` or `postgresInbox`; or call `receiver.handle`, which needs none.",
  });
}
