import express from "express";
import { serve } from "./serve.ts";
import { isFresh, isSigned } from "./verify.ts";

const app = express();

app.post("/webhooks", express.raw({ type: () => true, limit: "1mb" }), (req, res) => {
  const body = req.body as Buffer;
  if (!isFresh(req.headers) || !isSigned(body, req.headers)) {
    res.status(401).end();
    return;
  }
  JSON.parse(body.toString());
  res.status(200).end();
});

serve(app);
