// A queue with acknowledgements, in a process of its own: a line of JSON each way. What was handed to a consumer and not
// acknowledged when its connection ends is first in the queue again.
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createInterface } from "node:readline";

const waiting: unknown[] = [];
let consumer: Socket | undefined;
let handedOut: { readonly message: unknown } | undefined;

function handOut(): void {
  if (consumer === undefined || handedOut !== undefined || waiting.length === 0) return;
  handedOut = { message: waiting.shift() };
  consumer.write(`${JSON.stringify(handedOut)}\n`);
}

/** The consumer that had it is gone; the next one may connect before its end is noticed. */
function takeBack(): void {
  if (handedOut !== undefined) waiting.unshift(handedOut.message);
  handedOut = undefined;
}

const server = createServer((socket) => {
  const lines = createInterface(socket);
  // A consumer that is killed with something unread resets its connection, and readline emits that error again.
  socket.on("error", () => {});
  lines.on("error", () => {});
  socket.on("close", () => {
    if (socket !== consumer) return;
    consumer = undefined;
    takeBack();
  });
  lines.on("line", (line) => {
    const said = JSON.parse(line) as { put?: readonly unknown[]; consume?: true; acknowledged?: true };
    if (said.put !== undefined) {
      waiting.push(...said.put);
      socket.write("{}\n");
    }
    if (said.consume) {
      takeBack();
      consumer = socket;
    }
    // The last word of a dead one may come late.
    if (said.acknowledged && socket === consumer) handedOut = undefined;
    handOut();
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`port ${(server.address() as AddressInfo).port}`);
