import type { Id } from "../../protocol/event-types.ts";
import type { Send } from "../http/transport.ts";
import { countedPageReader, createPaged, type Paged } from "../paging.ts";
import { readNothing } from "../records/reader.ts";
import { readSubscription, type Subscription } from "../records/subscription.ts";
import type { RequestOptions } from "../request-options.ts";

/** Subscriptions to webhooks. One cannot be changed: delete it and create another. @see protocol 4.1, "Subscriptions" */
export interface Subscriptions {
  /** `GET /v1/subscriptions`. Its pages are counted: the token of a page is the number of records before it. */
  list(options?: SubscriptionListOptions): Paged<Subscription>;
  /** `GET /v1/subscriptions/{id}`. @throws NotFound */
  get(id: Id, options?: RequestOptions): Promise<Subscription>;
  /**
   * `POST /v1/subscriptions`. The service asks the URL to verify itself meanwhile, so the receiver must listen already.
   *
   * @throws BadRequest when the receiver does not answer the verification request
   */
  create(body: NewSubscription, options?: RequestOptions): Promise<Subscription>;
  /** `DELETE /v1/subscriptions/{id}`. @throws NotFound */
  delete(id: Id, options?: RequestOptions): Promise<void>;
}

/** Which subscriptions are listed. */
export interface SubscriptionListOptions extends RequestOptions {
  /** Those that do not work now, too. @default false */
  includeInactive?: boolean | undefined;
}

/** What is subscribed to. @see protocol 6.1 */
export interface NewSubscription {
  /** Such as `/email/messages`. */
  resource: string;
  notificationUrl: string;
  /** Such as `withoutDrafts`. */
  filters?: readonly string[] | undefined;
  /** `signal`: deliveries without `payloads`, which only say that something changed. */
  detailLevel?: "status" | "signal" | undefined;
}

/** The service waits 30 s for the receiver's answer, before it answers itself. */
const CREATE_TIMEOUT_MS = 45_000;

const readPage = countedPageReader(readSubscription);

export function createSubscriptions(send: Send, timeoutMs: number | undefined): Subscriptions {
  return {
    list: ({ includeInactive, ...options } = {}) =>
      createPaged((offset) =>
        send({ method: "GET", path: "/v1/subscriptions", query: { offset, includeInactive }, read: readPage, options }),
      ),
    get: (id, options) =>
      send({ method: "GET", path: "/v1/subscriptions/{id}", params: { id }, read: readSubscription, options }),
    create: (body, options) =>
      send({
        method: "POST",
        path: "/v1/subscriptions",
        body,
        read: readSubscription,
        options: { timeoutMs: timeoutMs ?? CREATE_TIMEOUT_MS, ...options },
      }),
    delete: (id, options) =>
      send({
        method: "DELETE",
        path: "/v1/subscriptions/{id}",
        params: { id },
        read: readNothing,
        answerOptional: true,
        options,
      }),
  };
}
