import type { RequestListener } from "node:http";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";

/** A Nest app on Express, as a listener of `node:http`. */
export async function toNestListener({
  controllers = [],
  prepare = () => {},
}: {
  readonly controllers?: (new () => object)[];
  /** Before Nest adds anything of its own. */
  readonly prepare?: (app: NestExpressApplication) => void;
}): Promise<RequestListener> {
  // oxlint-disable-next-line typescript/no-extraneous-class -- a Nest module is a class
  class AppModule {}
  // What a decorator would do; Node runs none.
  Module({ controllers })(AppModule);
  const app = await NestFactory.create<NestExpressApplication>(AppModule, { rawBody: true, logger: false });
  prepare(app);
  await app.init();
  return app.getHttpAdapter().getInstance() as RequestListener;
}
