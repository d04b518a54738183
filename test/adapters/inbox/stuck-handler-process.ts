// A program whose handler never ends: it closes its receiver, and then has nothing more to do.
import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";

const [secret, connectionString = ""] = ["a secret", process.argv[2]];
const receiver = createReceiver({ secret, inbox: postgresInbox(connectionString), log: false });
const started = Promise.withResolvers<void>();
receiver.on("email", async () => {
  started.resolve();
  await new Promise(() => {});
});
await receiver.start();
await receiver.receive(signedRequest(bodyOf({ payloads: [change("stuck")] }), { secret, at: new Date() }));
await started.promise;
console.log(await receiver.close({ drainMs: 100 }));
