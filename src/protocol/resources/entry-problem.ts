import type * as z from "zod/mini";

/** Why something read from the wire becomes an unknown event. */
export class EntryProblem {
  /** `shape`: a field is missing or of another kind; `value`: a known field has an unknown value. */
  readonly reason: "shape" | "value";
  /** Which field; `undefined` where what was read is no object at all. */
  readonly field: string | undefined;

  constructor(reason: EntryProblem["reason"], field: string | undefined) {
    this.reason = reason;
    this.field = field;
  }
}

/** The first field that did not fit. */
export function toProblem(error: z.core.$ZodError | undefined): EntryProblem {
  const field = error?.issues[0]?.path[0];
  return new EntryProblem("shape", field === undefined ? undefined : String(field));
}
