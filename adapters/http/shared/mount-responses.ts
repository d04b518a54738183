/** A reply, or one of the two below that only a mount gives. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** For a mount that has nobody to pass a foreign path to. */
export const FOREIGN_PATH: Answer = { status: 404, headers: {}, body: "" };

/** A receiver decides always; should one throw all the same, nothing was acknowledged and the delivery comes again. */
export const UNDECIDED: Answer = { status: 503, headers: { "Retry-After": "10" }, body: "" };
