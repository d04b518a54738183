import { createReceiver, memoryInbox } from "hookline";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";

// Says how much it finds, receives one delivery that it does not handle, and says the answer. SIGTERM closes it.
const secret = "a signing secret";
const receiver = createReceiver({ secret, inbox: memoryInbox(), log: false });
const alive = setInterval(() => {}, 60_000);
process.once("SIGTERM", () => {
  clearInterval(alive);
  void receiver.close();
});
await receiver.health(); // opens it
console.log(`found ${(await receiver.health()).waiting}`);
const { status } = await receiver.receive(signedRequest(bodyOf(), { secret, at: new Date() }));
console.log(`answered ${status}, ${(await receiver.health()).waiting} waits`);
