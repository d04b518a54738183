import { UsageError, type Id, type JobFilter } from "../index.ts";

/** Fields of a filter, as a query or a body of JSON has them. */
export type Filter = Readonly<Record<string, string>>;

const FIELDS: Readonly<Record<keyof JobFilter, (text: string) => unknown>> = {
  type: String,
  consumer: String,
  error: String,
  accountId: idIn,
  subscription: idIn,
  receivedAfter: (text) => new Date(text),
  receivedBefore: (text) => new Date(text),
};

/**
 * A mistyped field must not widen what is changed. Values are checked by the receiver.
 * @throws UsageError `jobs-invalid`
 */
export function toJobFilter(given: Filter): JobFilter {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      if (!Object.hasOwn(FIELDS, name)) throw wrongFilter(name);
      return [name, FIELDS[name as keyof JobFilter](text)];
    }),
  );
}

/** An empty field is no account 0; the receiver checks the number. @throws UsageError `jobs-invalid` */
export function idIn(text: string): Id {
  if (/^-?\d{1,16}$/.test(text)) return Number(text);
  throw new UsageError("jobs-invalid", `The dashboard got ${JSON.stringify(text)} as an id, expected its digits.`);
}

export function wrongFilter(name: string): UsageError {
  return new UsageError("jobs-invalid", `The dashboard got the unknown filter "${name}".`);
}
