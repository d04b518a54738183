import { isLiteralPath } from "../../adapters/http/shared/path.ts";
import type { RequiredFlag, ValueFlag } from "./arguments.ts";

/** A port to listen on. */
export function portFlag(port: number): ValueFlag<number> {
  return {
    expects: "a whole number from 0 to 65535",
    read: (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
    default: port,
  };
}

/** A port that is listened on only where it is given. */
export const adminPortFlag: ValueFlag<number | undefined> = { ...portFlag(0), default: undefined };

/** An address to listen on. */
export function hostFlag(host: string): ValueFlag<string> {
  return {
    expects: "an address of this machine without a port, such as 127.0.0.1, ::1, or 0.0.0.0 for all",
    read: (text) => (/^[\w:][\w.:%-]*$/.test(text) && !/^[^:]*:\d*$/.test(text) ? text : undefined),
    default: host,
  };
}

/** An address that is listened on only beside {@link adminPortFlag}. */
export const adminHostFlag: ValueFlag<string | undefined> = { ...hostFlag(""), default: undefined };

/** The path of a URL. */
export function pathFlag(path: string): ValueFlag<string> {
  return {
    expects: 'a path that begins with "/", without a query and no pattern, such as /webhooks',
    read: (text) => (isLiteralPath(text) ? text : undefined),
    default: path,
  };
}

/** How many of something. */
export function wholeFlag(least: number, most: number, byDefault: number): ValueFlag<number> {
  return {
    expects: `a whole number from ${least.toLocaleString("en-US")} to ${most.toLocaleString("en-US")}`,
    read: (text) =>
      /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined,
    default: byDefault,
  };
}

/** How many in a second. */
export const rateFlag: ValueFlag<number | undefined> = {
  expects: "a number from 0.001 to 1,000,000, such as 50 or 0.5",
  read: (text) =>
    /^\d{1,7}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0 && Number(text) <= 1e6 ? Number(text) : undefined,
  default: undefined,
};

/** Where to send to. */
export const urlFlag: RequiredFlag<string> = {
  expects: "a URL with http:// or https:// and without a password, such as http://localhost:3000/webhooks",
  read(text) {
    const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    return url === null || url.username !== "" || url.password !== "" ? undefined : url.href;
  },
  required: true,
};

/** The path of a file. */
export const fileFlag: ValueFlag<string | undefined> = {
  expects: "the path of a file",
  read: (text) => (text === "" || text === ":memory:" ? undefined : text),
  default: undefined,
};

/** A flag without a value and without a letter. */
export const switchFlag = { short: undefined } as const;
