import {
  Body,
  Catch,
  Controller,
  Get,
  Module,
  Post,
  type ArgumentsHost,
  type INestApplication,
  type MiddlewareConsumer,
} from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import express from "express";
import type { FastifyInstance } from "fastify";
import { forwardInbox } from "hookline";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { mountFirst } from "../../adapters/http/nest/nest-mount.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import { deferred } from "../support/event-loop.ts";
import { send } from "../support/http.ts";
import { ACKNOWLEDGED, deliver, DELIVERY } from "./harness.ts";
import { listening, type NestSetup } from "./nest-apps.ts";
import { mountSuite } from "./suite.ts";

const json = { "Content-Type": "application/json" };
/** A request of another route. */
export const post = { body: '{"a":1}', headers: json };
const path = "/webhooks";

/** The subscription that the suite wants answered 422. */
const UNWANTED = 4220;

@Controller("other")
class OtherController {
  @Get() get(): string {
    return "other";
  }
  @Post() post(@Body() body: unknown): object {
    return { got: body };
  }
}

/** A module with routes that have a body parser. */
@Module({ controllers: [OtherController] })
export class OtherModule {}

/** What the mount must do under one of Nest's platforms. */
export function nestSuite(name: string, makeAdapter: () => AbstractHttpAdapter): void {
  const other = (setup: NestSetup = {}): ReturnType<typeof listening> =>
    listening({ adapter: makeAdapter(), imports: [OtherModule], ...setup });

  describe(`${name}: the table of answers`, () => {
    const cases = checkHttpAdapter({
      async serve({ secret, tell, storeTimeoutMs, options }) {
        const { app, url, receiver } = await listening({
          adapter: makeAdapter(),
          receiver: { secret, inbox: forwardInbox((stored) => telling(tell, stored)), storeTimeoutMs },
          path: options.path ?? "/",
          mount: { source: options.source },
        });
        receiver.unsubscribeWhen(({ subscription }, unsubscribe) =>
          subscription === UNWANTED ? unsubscribe("The suite asks for it.") : undefined,
        );
        return { url, shutDown: async () => void (await receiver.close()), close: () => app.close() };
      },
      platform: { ownHeaders: ["x-powered-by"] },
      lacks: { afterHandlers: "a server that goes on after its answers has an inbox" },
    });
    for (const { name: sentence, run } of cases) test(sentence, run);
  });

  // The mount alone, under Nest's adapter and an app without anything.
  mountSuite(name, (receiver, options = {}) => {
    const adapter = makeAdapter();
    mountFirst(adapter, receiver, options);
    const app = started(adapter);
    return (req, res) => void app.then((listener) => listener(req, res));
  });

  describe(`${name}: in an app`, () => {
    test("other routes keep Nest's parser, below the global prefix or not; the mount's path is the whole one", async () => {
      const { url, receiver } = await other({ prepare: (app) => void app.setGlobalPrefix("api") });
      expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
      expect(await send(`${url}/api/other`, post)).toMatchObject({ status: 201, body: '{"got":{"a":1}}' });
      expect(await send(`${url}/api/other`, { method: "GET" })).toMatchObject({ status: 200, body: "other" });
      expect(await deliver(url, DELIVERY, { path: "/api/webhooks" })).toMatchObject({ status: 404 });
      expect(receiver.stats().stored).toBe(1);
    });

    test.each([{ bodyParser: false }, { rawBody: true }])("it needs no option of Nest's: %j", async (options) => {
      const { url, log } = await other({ options });
      expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
      expect(log.of("parsed-before")).toEqual([]);
    });

    test("a source function is asked with the request", async () => {
      const stored: unknown[] = [];
      const { url } = await listening({
        adapter: makeAdapter(),
        receiver: { inbox: forwardInbox(async (deliveries) => void stored.push(...deliveries)) },
        mount: { source: (request) => String((request as IncomingMessage).headers["x-shop"]) },
      });
      await deliver(url, DELIVERY, { path, headers: { "X-Shop": "crm" } });
      expect(stored).toMatchObject([{ source: "crm" }]);
    });
  });

  describe(`${name}: what the app has`, () => {
    const no = Object.assign(new Error("no"), { status: 422, statusCode: 422 });
    const fails = (): never => {
      throw no;
    };

    @Catch()
    class Filter {
      catch(_error: unknown, host: ArgumentsHost): void {
        const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: string): void } }>();
        response.status(422).send("filtered");
      }
    }

    const all: [string, (app: INestApplication) => unknown][] = [
      ["a guard", (app) => app.useGlobalGuards({ canActivate: () => false })],
      ["a guard that fails", (app) => app.useGlobalGuards({ canActivate: fails })],
      ["an interceptor", (app) => app.useGlobalInterceptors({ intercept: fails })],
      ["a pipe", (app) => app.useGlobalPipes({ transform: fails })],
      ["an exception filter", (app) => app.useGlobalFilters(new Filter())],
      ["middleware that answers", (app) => app.use((_: IncomingMessage, res: ServerResponse) => res.end("mine"))],
      ["middleware that fails", (app) => app.use(fails)],
      ["middleware that reads", (app) => app.use(express.json())],
      ["cross-origin headers", (app) => app.enableCors({ origin: "https://example.com" })],
    ];

    test.each(all)("cannot change an answer: %s", async (_, prepare) => {
      const { url, receiver } = await other({ prepare });
      receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe("the account was deleted"));
      expect(await send(url + path, { body: DELIVERY })).toMatchObject({ status: 401, body: "" });
      const answer = await deliver(url, DELIVERY, { path });
      expect(answer).toMatchObject({ status: 422, body: "", headers: { "content-length": "0" } });
      expect(answer.headers).not.toHaveProperty("content-type");
    });

    test("stands after the mount: middleware of a module", async () => {
      const seen: unknown[] = [];
      @Module({})
      class WithMiddleware {
        configure(consumer: MiddlewareConsumer): void {
          const middleware = (req: IncomingMessage, _res: unknown, next: () => void): void => {
            seen.push(req.url);
            next();
          };
          consumer.apply(middleware).forRoutes("*path");
        }
      }
      const { url } = await other({ imports: [OtherModule, WithMiddleware] });
      await deliver(url, DELIVERY, { path });
      expect(await send(`${url}/other`, { method: "GET" })).toMatchObject({ body: "other" });
      expect(seen).toHaveLength(1);
    });
  });

  describe(`${name}: an app that closes`, () => {
    test("answers the request that is open, and keeps it first", async () => {
      const held = deferred();
      const keeping = deferred();
      const stored: unknown[] = [];
      const { app, url } = await listening({
        adapter: makeAdapter(),
        receiver: {
          inbox: forwardInbox(async (deliveries) => {
            keeping.resolve();
            await held.promise;
            stored.push(...deliveries);
          }),
        },
        options: { forceCloseConnections: false },
      });
      const answered = deliver(url, DELIVERY, { path });
      await keeping.promise;
      const closed = app.close();
      held.resolve();
      expect(await answered).toMatchObject(ACKNOWLEDGED);
      await closed;
      expect(stored).toHaveLength(1);
    });
  });
}

/** Nest's app of nothing, as a listener of `node:http`. */
async function started(adapter: AbstractHttpAdapter): Promise<RequestListener> {
  @Module({})
  class Empty {}
  const app = await NestFactory.create(Empty, adapter, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  await app.init();
  if (adapter.getType() === "express") return adapter.getInstance<RequestListener>();
  const instance = adapter.getInstance<FastifyInstance>();
  await instance.ready();
  return (req, res) => instance.routing(req, res);
}

async function telling(tell: string, stored: unknown): Promise<void> {
  const answer = await fetch(tell, { method: "POST", headers: json, body: JSON.stringify({ stored }) });
  if (!answer.ok) throw new Error(`The suite answered ${answer.status}.`);
}
