import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { serve } from "./serve.ts";
import { isFresh, isSigned } from "./verify.ts";

const app = new Hono();

app.post("/webhooks", async (c) => {
  const body = Buffer.from(await c.req.arrayBuffer());
  const headers = c.req.header();
  if (!isFresh(headers) || !isSigned(body, headers)) return c.body(null, 401);
  JSON.parse(body.toString());
  return c.body(null, 200);
});

const handle = getRequestListener(app.fetch);
serve((req, res) => void handle(req, res));
