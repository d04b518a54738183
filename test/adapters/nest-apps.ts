import { Module, type INestApplication, type NestApplicationOptions } from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { memoryInbox, type Receiver, type ReceiverOptions } from "hookline";
import { HooklineModule, InjectReceiver, type HooklineModuleOptions } from "hookline/nest";
import { onTestFinished } from "vitest";
import { logRecorder, type LogRecorder } from "../support/log-recorder.ts";
import { SECRET } from "./harness.ts";

/** The platforms that Nest runs on. */
export const platforms: readonly (readonly [string, () => AbstractHttpAdapter])[] = [
  ["nest on express", () => new ExpressAdapter()],
  ["nest on fastify", () => new FastifyAdapter()],
];

export interface NestApp {
  readonly app: INestApplication;
  readonly receiver: Receiver;
  readonly log: LogRecorder;
}

export interface NestSetup {
  /** @default Express */
  readonly adapter?: AbstractHttpAdapter;
  readonly receiver?: Partial<ReceiverOptions>;
  /** @default "/webhooks" */
  readonly path?: string;
  readonly mount?: Omit<HooklineModuleOptions["mount"], "path">;
  readonly imports?: readonly object[];
  readonly options?: NestApplicationOptions;
  /** What a program does between `create` and `listen`. */
  readonly prepare?: (app: INestApplication) => void;
}

/** An app with the module and the given ones, begun and closed when the test ends. */
export async function nestApp(setup: NestSetup = {}): Promise<NestApp> {
  const { prepare, options, adapter = new ExpressAdapter() } = setup;
  const log = logRecorder();
  const app = await NestFactory.create(rootOf(setup, log), adapter, { logger: false, abortOnError: false, ...options });
  onTestFinished(() => app.close());
  prepare?.(app);
  await app.init();
  return { app, log, receiver: app.get(Holder).receiver };
}

/** The same, and it listens. */
export async function listening(setup: NestSetup = {}): Promise<NestApp & { readonly url: string }> {
  const made = await nestApp({ ...setup, options: { forceCloseConnections: true, ...setup.options } });
  await made.app.listen(0, "127.0.0.1");
  return { ...made, url: await made.app.getUrl() };
}

/** The root module of such an app. */
export function rootOf(setup: NestSetup, log: LogRecorder = logRecorder()): new () => object {
  const { path = "/webhooks", mount, receiver, imports = [] } = setup;

  @Module({
    imports: [
      HooklineModule.forRootAsync({
        useFactory: () => ({ secret: SECRET, inbox: memoryInbox(), log: log.logger, ...receiver }),
        mount: { ...mount, path },
      }),
      ...(imports as []),
    ],
    providers: [Holder],
  })
  class AppModule {}
  return AppModule;
}

/** How a test gets hold of the receiver. */
export class Holder {
  @InjectReceiver() readonly receiver!: Receiver;
}
