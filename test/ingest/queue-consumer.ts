// Takes deliveries out of the queue, one after another, and acknowledges each when `handle` has ended. What is handled is written
// to a file, when it begins and when it is done.
import { appendFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { createReceiver, forwardInbox, type StoredDelivery } from "hookline";

const { QUEUE_PORT, SECRET: secret, BOOK: book = "", HANGS_AT = "0" } = process.env;
const inbox = forwardInbox(() => Promise.reject(new Error("Nothing is received here.")));
const receiver = createReceiver({ secret, inbox });
let begun = 0;

receiver.on("email.updated", async ({ id, attributes }) => {
  const what = `${id} ${attributes?.threadId}`;
  appendFileSync(book, `begun ${what}\n`);
  begun += 1;
  // Somewhere in the middle it waits to be killed.
  if (begun === Number(HANGS_AT)) await new Promise<never>(() => {});
  await appendFile(book, `done ${what}\n`, { flush: true });
});

const socket = connect(Number(QUEUE_PORT), "127.0.0.1");
socket.write('{"consume":true}\n');
for await (const line of createInterface(socket)) {
  const { message } = JSON.parse(line) as { message: StoredDelivery };
  await receiver.handle(message);
  socket.write('{"acknowledged":true}\n');
}
