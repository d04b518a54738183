// A receiver for any server with web-standard requests: Bun, Deno, and Node with such a server.
// Try it: SIGNING_SECRET=whsec node fetch.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import process from "node:process";
import { serve } from "@hono/node-server";
import { createReceiver, memoryInbox } from "hookline";
import { fetchReceiver } from "hookline/fetch";

const { SIGNING_SECRET: secret, PORT: port = 3000 } = process.env;
const receiver = createReceiver({ secret, inbox: memoryInbox() });

receiver.on("email.created", (event) => {
  console.log(`account ${event.accountId}: created message ${event.id}`);
});

await receiver.start();
const fetch = fetchReceiver(receiver, { runtime: "long-lived", path: "/webhooks" });

// `bun fetch.ts` and `deno serve --allow-env --allow-sys --port 3000 fetch.ts` serve the default export.
export default { fetch, port };

if (!("Bun" in globalThis || "Deno" in globalThis)) {
  serve({ fetch, port: Number(port) }, () => console.log(`listening on http://localhost:${port}/webhooks`));
}

process.once("SIGTERM", () => void receiver.close().then(() => process.exit()));
