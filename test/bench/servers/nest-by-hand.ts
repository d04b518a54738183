import { Controller, HttpCode, Post, Req, UnauthorizedException } from "@nestjs/common";
import type { IncomingHttpHeaders } from "node:http";
import { toNestListener } from "./nest.ts";
import { serve } from "./serve.ts";
import { isFresh, isSigned } from "./verify.ts";

interface Taken {
  readonly rawBody?: Buffer;
  readonly headers: IncomingHttpHeaders;
}

class Webhooks {
  // Nest's parser has parsed the body.
  take({ rawBody = Buffer.alloc(0), headers }: Taken): void {
    if (!isFresh(headers) || !isSigned(rawBody, headers)) throw new UnauthorizedException();
  }
}

// Node does not run decorators: these calls do the same.
const take = Object.getOwnPropertyDescriptor(Webhooks.prototype, "take") ?? {};
Req()(Webhooks.prototype, "take", 0);
HttpCode(200)(Webhooks.prototype, "take", take);
Post("webhooks")(Webhooks.prototype, "take", take);
Controller()(Webhooks);

serve(await toNestListener({ controllers: [Webhooks] }));
