import type { Delivery } from "../inbox/port/delivery.ts";
import type { Credentials } from "../protocol/signature-headers.ts";
import type { Document } from "../protocol/envelope.ts";
import type { RawRequest } from "./types.ts";
import type { RefusalCode } from "./responses.ts";

// The way of a request: check -> read -> verify -> greet -> admit -> keep. The output of each step is a type that only this step
// makes, so that none can be left out or done twice.

declare const passed: unique symbol;
type Passed<Step extends string> = { readonly [passed]: Step };

/** A POST with credentials that may hold, and a body that may be read. */
export type Checked = Passed<"check"> & { readonly request: RawRequest; readonly credentials: Credentials };

/** Its bytes are here. */
export type Read = Passed<"read"> & {
  readonly checked: Checked;
  readonly body: Uint8Array;
  readonly source: string | undefined;
  readonly receivedAt: number;
};

/** Its signature holds: from here on, its content never earns a 4xx. */
export type Verified = Passed<"verify"> & {
  readonly url: string;
  readonly delivery: Delivery;
  readonly document: () => Document;
};

/** It is wanted, and the receiver takes deliveries. */
export type Admitted = Passed<"admit"> & { readonly delivery: Delivery; readonly document: () => Document };

/** Not acknowledged: what a step says instead of passing on. */
export class Refused {
  readonly code: RefusalCode;
  readonly cause: unknown;

  constructor(code: RefusalCode, cause?: unknown) {
    this.code = code;
    this.cause = cause;
  }
}
