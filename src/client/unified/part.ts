import { UsageError } from "../../errors.ts";
import type { Send } from "../http/transport.ts";

const sends = new WeakMap<object, Send>();

/** Lets parts of the API that are modules of their own use the connection of a client. */
export function withParts<C extends object>(client: C, send: Send): C {
  sends.set(client, send);
  return client;
}

/** The connection of a client, or of an application. @throws UsageError `client-unknown` */
export function sendOf(client: object): Send {
  const send = sends.get(client);
  if (send !== undefined) return send;
  throw new UsageError("client-unknown", "The client was not made by createClient, clients() or createApplication.", {
    fix: "Give the object itself: a copy of it has no connection.",
  });
}
