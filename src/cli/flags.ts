import { isLiteralPath } from "../../adapters/http/shared/literal-path.ts";

/** How the value of a flag or an argument is parsed. */
export interface ValueType<T> {
  /** What the value must be, for messages. */
  readonly expects: string;
  /** `undefined` when the text is invalid. */
  readonly read: (text: string) => T | undefined;
}

/** A port to listen on. */
export const PORT: ValueType<number> = {
  expects: "a whole number from 0 to 65535",
  read: (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
};

/** An address to listen on. */
export const HOST: ValueType<string> = {
  expects: "an address of this machine without a port, such as 127.0.0.1, ::1, or 0.0.0.0 for all",
  read: (text) => (/^[\w:][\w.:%-]*$/.test(text) && !/^[^:]*:\d*$/.test(text) ? text : undefined),
};

/** The path of a URL. */
export const URL_PATH: ValueType<string> = {
  expects: 'a path that begins with "/", without a query and no pattern, such as /webhooks',
  read: (text) => (isLiteralPath(text) ? text : undefined),
};

/** A whole number in a range. */
export function wholeNumber(least: number, most: number): ValueType<number> {
  return {
    expects: `a whole number from ${least.toLocaleString("en-US")} to ${most.toLocaleString("en-US")}`,
    read: (text) =>
      /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined,
  };
}

/** The number of an account, a subscription or a job. */
export const ID_NUMBER: ValueType<number> = {
  expects: "a number, such as 2002",
  read: (text) => (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined),
};

/** One of some words. */
export function oneOf<const W extends string>(...words: readonly W[]): ValueType<W> {
  return { expects: words.join(" or "), read: (text) => words.find((word) => word === text) };
}

/** How many in a second. */
export const RATE: ValueType<number> = {
  expects: "a number from 0.001 to 1,000,000, such as 50 or 0.5",
  read: (text) =>
    /^\d{1,7}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0 && Number(text) <= 1e6 ? Number(text) : undefined,
};

/** The URL of an app's route. */
export const APP_URL: ValueType<string> = {
  expects: "a URL with http:// or https:// and without a password, such as http://localhost:3000/webhooks",
  read(text) {
    const found = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    return found === null || found.username !== "" || found.password !== "" ? undefined : found.href;
  },
};

/** The base URL of the service's API. */
export const API_URL: ValueType<string> = { ...APP_URL, expects: "a URL such as https://api.aurinko.io" };

/** What can be subscribed to. @see protocol 6.1 */
export const RESOURCE: ValueType<string> = {
  expects: "a resource such as /email/messages, /calendars/primary/events or /contacts",
  read: (text) => (text.startsWith("/") ? text : undefined),
};

/** What a receiver was given for its inbox: the path of a file, or the connection string of a database. */
export const INBOX_PLACE: ValueType<string> = {
  expects: "the path of a file, or a connection string such as postgres://user@host/database",
  read: (text) => (text === "" || text === ":memory:" ? undefined : text),
};

export function isConnectionString(place: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(place);
}

/** Any text but an empty one. */
export function nonEmpty(expects: string): ValueType<string> {
  return { expects, read: (text) => (text === "" ? undefined : text) };
}
