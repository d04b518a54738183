import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { namedServer } from "./named-server.ts";
import { startPostgres, type PostgresServer } from "./start-postgres.ts";

/** Where test processes ask for the server that they share. */
const ASK_AT = "HOOKLINE_TEST_POSTGRES_SHARED";

/**
 * Vitest's global setup. The server starts when the first test asks for it, and belongs to the process that runs vitest: test processes
 * come and go. Tests without PostgreSQL start none.
 */
export default async function sharePostgres(): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  // The path is a secret: the answer names a superuser of a server that can run programs.
  const path = `/${randomUUID()}`;
  const desk = createServer((request, response) => {
    if (request.url !== path) return void response.writeHead(404).end();
    server ??= startPostgres();
    server.then(
      ({ connectionString }) => response.end(connectionString),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  desk.listen(0, "127.0.0.1").unref();
  await once(desk, "listening");
  process.env[ASK_AT] = `http://127.0.0.1:${(desk.address() as AddressInfo).port}${path}`;
  return async () => {
    desk.close();
    desk.closeAllConnections();
    await (await server?.catch(() => undefined))?.remove();
  };
}

let own: Promise<PostgresServer> | undefined;

/** The connection string of a superuser. */
export async function sharedServer(): Promise<string> {
  const { connectionString } = namedServer();
  if (connectionString !== undefined) return connectionString;
  const url = process.env[ASK_AT];
  if (url === undefined) return (await (own ??= startPostgres())).connectionString;
  const answer = await fetch(url);
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}
