import type { ValueFlag } from "./arguments.ts";

/** A port to listen on. */
export function portFlag(port: number): ValueFlag<number> {
  return {
    expects: "a whole number from 0 to 65535",
    read: (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
    default: port,
  };
}

/** An address to listen on. */
export function hostFlag(host: string): ValueFlag<string> {
  return {
    expects: "an address of this machine without a port, such as 127.0.0.1, ::1, or 0.0.0.0 for all",
    read: (text) => (/^[\w:][\w.:%-]*$/.test(text) && !/^[^:]*:\d*$/.test(text) ? text : undefined),
    default: host,
  };
}

/** The path of a URL. */
export function pathFlag(path: string): ValueFlag<string> {
  return {
    expects: 'a path that begins with "/", without a query, such as /webhooks',
    read: (text) => (/^\/[^?#\s]*$/.test(text) ? text : undefined),
    default: path,
  };
}
