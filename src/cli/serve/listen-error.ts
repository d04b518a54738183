import { CommandError } from "../command-error.ts";
import { EXIT } from "../exit-codes.ts";

/** Where to listen. */
export interface Address {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** What its flags begin with, as `admin-` in `--admin-port` and `--admin-host`. @default nothing */
  readonly prefix?: string;
}

/** Why an address cannot be listened on, and what to do about it. */
export function toListenError(error: NodeJS.ErrnoException, address: Address): CommandError {
  return new CommandError(EXIT.failed, whyNot(error, address), { cause: error });
}

function whyNot({ code, message }: NodeJS.ErrnoException, { host, port, prefix = "" }: Address): string {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use. Stop what listens there, or take another: --${prefix}port 0 takes any free one.`;
    case "EACCES":
      return `Port ${port} is not allowed to this user. Take one from 1024 on with --${prefix}port.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} is no address of this machine. --${prefix}host takes one of its own, such as 127.0.0.1, or 0.0.0.0 for all.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${message}.`;
  }
}
