// The receiver of a Next app (app router) on your own server: `next build`, then `next start`.
// This is `receiver.ts` at the app's root. Three files beside it:
//   app/webhooks/route.ts: export { POST } from "../../receiver";
//   instrumentation.ts: export async function register() { if (process.env.NEXT_RUNTIME === "nodejs") await (await import("./receiver")).start(); }
//   next.config.mjs: export default { serverExternalPackages: ["hookline"] };
// The last line makes all of them share one hookline; Next would bundle a copy into each.
// Try it: SIGNING_SECRET=whsec NEXT_MANUAL_SIG_HANDLE=true npx next start
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import { createReceiver, type Receiver } from "hookline";
import { nextReceiver } from "hookline/next";
import { sqliteInbox } from "hookline/sqlite";

// Next loads this file once for the route and once for the instrumentation, and `next dev` again after each change:
// all loads share the first receiver and its handlers: restart `next dev` when you change them.
const shared = globalThis as { hooklineReceiver?: Receiver };
const receiver = (shared.hooklineReceiver ??= createOwnReceiver());

export const POST = nextReceiver(receiver, { runtime: "long-lived" });

/** Starts the handlers. With NEXT_MANUAL_SIG_HANDLE the app handles SIGTERM itself: Next would not wait for handlers. */
export async function start(): Promise<void> {
  await receiver.start();
  process.once("SIGTERM", () => void receiver.close().then(() => process.exit()));
}

function createOwnReceiver(): Receiver {
  const own = createReceiver({
    secret: process.env["SIGNING_SECRET"],
    inbox: sqliteInbox(process.env["INBOX"] ?? "inbox.db"),
  });
  own.on(["email.created", "email.updated"], (event, ctx) => {
    console.log(`account ${event.accountId}: ${event.changeType} message ${event.id}, attempt ${ctx.attempt}`);
  });
  own.on("email.deleted", (event) => {
    console.log(`account ${event.accountId}: look whether message ${event.id} is gone`);
  });
  return own;
}
