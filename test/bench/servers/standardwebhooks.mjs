import { Webhook } from "standardwebhooks";
import { SECRET } from "../signing.ts";
import { serve } from "./serve.ts";

const webhook = new Webhook(SECRET);

serve((req, res) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    try {
      webhook.verify(Buffer.concat(chunks).toString(), req.headers);
    } catch {
      res.statusCode = 401;
    }
    res.end();
  });
});
