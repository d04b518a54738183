import { postgresInbox } from "hookline/postgres";
import { sqliteInbox } from "hookline/sqlite";
import { sdk3 } from "./sdk-3.ts";
import { createWorld, mails } from "./world.ts";

// Stores one delivery, says which trace and span stored it, and waits for its end.
const [place = ""] = process.argv.slice(2);
const inbox = place.startsWith("postgres") ? postgresInbox(place) : sqliteInbox(place);
const world = createWorld(sdk3, { inbox });
const status = await world.send(mails("a"));
const [sent] = world.sends();
console.log(`${status} ${sent?.spanContext().traceId} ${sent?.spanContext().spanId}`);
setInterval(() => {}, 1_000);
