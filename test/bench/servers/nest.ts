import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import type { RequestListener } from "node:http";

/** A Nest app on Express, as a listener of `node:http`. */
export async function toNestListener({
  controllers = [],
  prepare = () => {},
}: {
  readonly controllers?: (new () => object)[];
  /** Called before Nest adds its own middleware. */
  readonly prepare?: (app: NestExpressApplication) => void;
}): Promise<RequestListener> {
  // oxlint-disable-next-line typescript/no-extraneous-class -- a Nest module is a class
  class AppModule {}
  // Node does not run decorators: this call does the same.
  Module({ controllers })(AppModule);
  const app = await NestFactory.create<NestExpressApplication>(AppModule, { rawBody: true, logger: false });
  prepare(app);
  await app.init();
  return app.getHttpAdapter().getInstance() as RequestListener;
}
