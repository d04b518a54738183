import { CommandError } from "./command-error.ts";
import { EXIT } from "./exit-codes.ts";

/** Where to listen. */
export interface Address {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** Which flag says the port. @default "--port" */
  readonly flag?: string;
}

/** Why an address cannot be listened on, and what to do about it. */
export function toListenError(error: NodeJS.ErrnoException, address: Address): CommandError {
  return new CommandError(EXIT.failed, whyNot(error, address), { cause: error });
}

function whyNot({ code, message }: NodeJS.ErrnoException, { host, port, flag = "--port" }: Address): string {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use. Stop what listens there, or take another: ${flag} 0 takes any free one.`;
    case "EACCES":
      return `Port ${port} is not allowed to this user. Take one from 1024 on with ${flag}.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} is no address of this machine. --host takes one of its own, such as 127.0.0.1, or 0.0.0.0 for all.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${message}.`;
  }
}
