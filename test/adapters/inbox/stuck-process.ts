import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { createReceiver } from "../../../src/index.ts";
import { bodyOf, signedRequest } from "../../support/make-delivery.ts";

// Its handler ignores its signal, and outlives the receiver's close: until SIGUSR2 where it is told to, else for ever.
const [file = "", until] = process.argv.slice(2);
const secret = "a signing secret";
const receiver = createReceiver({
  secret,
  inbox: sqliteInbox(file, { minFreeDiskBytes: 0 }),
  storeTimeoutMs: 60_000,
  log: false,
});
const begun = Promise.withResolvers<void>();
const ended = Promise.withResolvers<void>();

receiver.on("email", async () => {
  begun.resolve();
  await ended.promise;
});
if (until === "signal") {
  const alive = setInterval(() => {}, 60_000);
  process.once("SIGUSR2", () => {
    clearInterval(alive);
    ended.resolve();
  });
}
await receiver.start();
const { status } = await receiver.receive(signedRequest(bodyOf(), { secret, at: new Date() }));
await begun.promise;
const { stuck } = await receiver.close({ drainMs: 0 });
console.log(`answered ${status}, stuck ${stuck}`);
