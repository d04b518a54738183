import Koa from "koa";
import { getRawBody } from "raw-body";
import { serve } from "./serve.ts";
import { isFresh, isSigned } from "./verify.ts";

const app = new Koa();

app.use(async (ctx, next) => {
  if (ctx.path !== "/webhooks" || ctx.method !== "POST") return next();
  const body = await getRawBody(ctx.req, { length: ctx.req.headers["content-length"] ?? null, limit: "1mb" });
  if (!isFresh(ctx.headers) || !isSigned(body, ctx.headers)) {
    ctx.status = 401;
    return;
  }
  JSON.parse(body.toString());
  ctx.status = 200;
});

const handle = app.callback();
serve((req, res) => void handle(req, res));
