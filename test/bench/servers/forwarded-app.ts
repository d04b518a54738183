import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// An app that takes every event.
const server = createServer((request, response) => {
  request.resume().on("end", () => response.end());
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
