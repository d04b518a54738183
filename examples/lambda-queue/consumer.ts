// A function behind the queue: a message is deleted when PostgreSQL has its delivery. It has no handlers and does not call start(),
// because a function freezes between two invocations: worker.ts handles what is stored.
import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { sqsConsumer } from "hookline/sqs";

const { SIGNING_SECRET: secret, DATABASE_URL: database = "" } = process.env;
const receiver = createReceiver({ secret, inbox: postgresInbox(database) });

export const handler = sqsConsumer(receiver);
