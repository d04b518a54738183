// A queue of your own, here a folder of files: one process stores and answers, another handles, also after a crash.
// Try it: SIGNING_SECRET=whsec node own-queue.ts
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import { fork } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import { createReceiver, forwardInbox, type StoredDelivery } from "hookline";
import { nodeReceiver } from "hookline/node";

const { SIGNING_SECRET: secret, PORT: port = 3000, QUEUE: queue = `${tmpdir()}/hookline-queue` } = process.env;
const inbox = forwardInbox(async (deliveries) => {
  for (const delivery of deliveries) {
    await writeFile(`${queue}/${delivery.id}.part`, JSON.stringify(delivery), { flush: true });
    await rename(`${queue}/${delivery.id}.part`, `${queue}/${Date.parse(delivery.receivedAt)}-${delivery.id}.json`);
  }
}); // once this resolves, the service gets its 200
const receiver = createReceiver({ secret, inbox });
receiver.on("email", (event) => console.log(`process ${process.pid}: ${event.changeType} message ${event.id}`));

await mkdir(queue, { recursive: true });
if (process.argv[2] === "worker") {
  while (process.connected) {
    for (const name of (await readdir(queue)).filter((file) => file.endsWith(".json")).toSorted()) {
      const delivery = JSON.parse(await readFile(`${queue}/${name}`, "utf8")) as StoredDelivery;
      await receiver.handle(delivery).then(() => rm(`${queue}/${name}`), console.error); // one that failed stays
    }
    await setTimeout(100);
  }
} else {
  const worker = fork(import.meta.filename, ["worker"]);
  const server = createServer(nodeReceiver(receiver, { path: "/webhooks" }));
  server.listen(port, () => console.log(`listening on http://localhost:${port}/webhooks`));
  process.once("SIGTERM", () => {
    server.close(() => worker.connected && worker.disconnect());
    void receiver.close();
  });
}
