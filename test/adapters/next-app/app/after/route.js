import { createReceiver, memoryInbox } from "hookline";
import { nextReceiver } from "hookline/next";
import { after } from "next/server";

// Stands for an inbox in the network.
const inbox = { ...memoryInbox(), storage: "network" };
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });
receiver.on("email.created", (event) => console.log(`after the answer: message ${event.id}`));

export const POST = nextReceiver(receiver, { waitUntil: after });
