import { createReceiver, memoryInbox } from "hookline";
import { nextPagesReceiver } from "hookline/next";

// Next's body parser is on where nothing is said.
const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });

export default nextPagesReceiver(receiver, { runtime: "long-lived" });
