import bolt from "@slack/bolt";
import { SECRET } from "../signing.ts";
import { serve } from "./serve.ts";

const receiver = new bolt.HTTPReceiver({ signingSecret: SECRET });
// With a token it would ask Slack who it is.
const app = new bolt.App({ receiver, authorize: async () => ({ botToken: "xoxb-0", botId: "B0", botUserId: "U0" }) });
app.event("message", async () => {});

// Its own `start` makes a server of `node:http` with this listener.
serve(receiver.requestListener);
