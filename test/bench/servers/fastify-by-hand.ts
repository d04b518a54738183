import { fastify } from "fastify";
import { serve } from "./serve.ts";
import { isFresh, isSigned } from "./verify.ts";

const app = fastify();

// The raw bytes, for every content type.
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

app.post("/webhooks", (request, reply) => {
  const body = request.body as Buffer;
  if (!isFresh(request.headers) || !isSigned(body, request.headers)) return reply.code(401).send();
  JSON.parse(body.toString());
  return reply.code(200).send();
});

await app.ready();
serve((req, res) => app.routing(req, res));
