// Receives and stores, and works on nothing: any number of these can run behind a proxy.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReceiver } from "hookline";
import { nodeReceiver } from "hookline/node";
import { postgresInbox } from "hookline/postgres";

const {
  SIGNING_SECRET: secret,
  DATABASE_URL: database = "postgres://localhost/app",
  PORT: port = "3000",
} = process.env;
const receiver = createReceiver({ secret, inbox: postgresInbox(database) });

const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
server.listen(Number(port), () => {
  const listening = (server.address() as AddressInfo).port;
  console.log(`receiver ${process.pid} listens on port ${listening}`);
  process.send?.({ port: listening });
});

process.once("SIGTERM", () => {
  server.close(() => void receiver.close().then(() => process.exit()));
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
});
process.once("disconnect", () => process.exit());
