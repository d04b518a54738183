// Mirrors messages, the primary calendar, contacts and tasks of accounts into mirror.db. It may be killed at any moment.
import { DatabaseSync } from "node:sqlite";
import express from "express";
import { createReceiver } from "hookline";
import { clients } from "hookline/client";
import { expressReceiver } from "hookline/express";
import { sqliteInbox } from "hookline/sqlite";
import { deltaSync, sqliteTokens, type ApplyScope, type KnownScope } from "hookline/sync";

const { SIGNING_SECRET: secret, API_URL: baseUrl, FOLDER: folder = ".", PORT: port = "3000" } = process.env;
const rateLimit = { perSecond: Number(process.env["CALLS_PER_SECOND"] ?? 10) };
// Your table of accounts: here "2001=its token,2002=..."
const accounts = new Map(
  (process.env["ACCOUNTS"] ?? "").split(",").map((pair) => [parseInt(pair), pair.split("=")[1]]),
);

const db = new DatabaseSync(`${folder}/mirror.db`, { timeout: 5_000 });
db.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS record (account INT, resource TEXT, id TEXT, json TEXT, PRIMARY KEY (account, resource, id))`);
const put = db.prepare("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)");
const drop = db.prepare("DELETE FROM record WHERE account = ? AND resource = ? AND id = ?");
const ids = db.prepare("SELECT id FROM record WHERE account = ? AND resource = ?");

const receiver = createReceiver({ secret, inbox: sqliteInbox(`${folder}/inbox.db`) });
const mirror = {
  client: clients((accountId) => ({ baseUrl, rateLimit, token: () => accounts.get(accountId) ?? "" })),
  tokens: sqliteTokens(receiver),
  async apply(records: readonly { readonly id: string }[], { accountId, resource }: ApplyScope) {
    for (const record of records) put.run(accountId, resource, record.id, JSON.stringify(record));
  },
  async remove(gone: readonly string[], { accountId, resource }: ApplyScope) {
    for (const id of gone) drop.run(accountId, resource, id);
  },
  known: ({ accountId, resource }: KnownScope) => ids.all(accountId, resource).map(({ id }) => String(id)),
};
const syncs = (["email", "calendarEvent", "contact", "task"] as const).map((family) =>
  deltaSync(receiver, family, mirror),
);

await receiver.start();
express()
  .post("/webhooks", expressReceiver(receiver))
  .listen(Number(port), () => process.send?.("listening"));

const catchUp = () => {
  for (const accountId of accounts.keys())
    for (const sync of syncs)
      sync.run(accountId).catch((error: unknown) => console.error(`account ${accountId} is tried again later:`, error));
};
catchUp();
setInterval(catchUp, 3_600_000);
