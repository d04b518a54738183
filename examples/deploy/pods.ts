// One of several pods on one PostgreSQL: deliveries on port 3000, probes and metrics on port 3001, a graceful stop on SIGTERM.
// It has no types, so Node runs it as app.js, too.
import express from "express";
import { createReceiver } from "hookline";
import { expressReceiver } from "hookline/express";
import { postgresInbox } from "hookline/postgres";
import { prometheusMetrics } from "hookline/prometheus";

const { SIGNING_SECRET: secret, DATABASE_URL: url = "postgres://localhost/app", HOST: host = "0.0.0.0" } = process.env;
const { PORT: port = "3000", ADMIN_PORT: adminPort = "3001" } = process.env;

const receiver = createReceiver({ secret, inbox: postgresInbox(url) });
receiver.on("email", (event) => console.log(`account ${event.accountId}: ${event.changeType} message ${event.id}`));
const metrics = prometheusMetrics(receiver); // before start(): it counts from now on

const app = express();
app.post("/webhooks", expressReceiver(receiver)); // above every body parser
app.use(express.json());

const admin = express(); // no password: a port of its own, which no proxy passes on
admin.get("/livez", async (_req, res) => void res.sendStatus((await receiver.health()).live ? 200 : 503));
admin.get("/readyz", async (_req, res) => void res.sendStatus((await receiver.health()).ready ? 200 : 503));
admin.get("/stats", async (_req, res) => void res.json({ stats: receiver.stats(), health: await receiver.health() }));
admin.get("/metrics", async (_req, res) => void res.type(metrics.contentType).send(await metrics.text()));

const server = app.listen(Number(port), host, (error) => {
  if (error !== undefined) throw error;
  console.log(`listening on http://${host}:${port}/webhooks`);
});
server.keepAliveTimeout = 75_000; // longer than the Ingress holds an idle connection
admin.listen(Number(adminPort), host, (error) => {
  if (error !== undefined) throw error;
});

process.once("SIGTERM", () => {
  const answered = new Promise((resolve) => server.close(resolve)); // 1. no new connections
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
  void answered // 2. open requests have their answers
    .then(() => receiver.close({ drainMs: 20_000 })) // 3. running handlers may end
    .then(({ stuck }) => process.exit(stuck === 0 ? 0 : 1)); // 4. a stuck handler would keep the process alive
});

// Last: where it upgrades the inbox it may take minutes, and probes are answered meanwhile.
await receiver.start();
