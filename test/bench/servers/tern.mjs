import { createWebhookMiddleware } from "@hookflo/tern/express";
import express from "express";
import { SECRET } from "../signing.ts";
import { serve } from "./serve.ts";

const app = express();
app.post(
  "/webhooks",
  express.raw({ type: "*/*" }),
  createWebhookMiddleware({ platform: "stripe", secret: SECRET }),
  (_req, res) => {
    res.status(200).end();
  },
);

serve(app);
