// oxlint-disable typescript/no-explicit-any -- Nest itself says `any` there: what users write for it must fit
import { Inject } from "@nestjs/common";
import { DiscoveryModule, DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { assertOptions, type MountOptions } from "../../src/adapter.ts";
import {
  createReceiver,
  isHooklineError,
  type AnyEvent,
  type Context,
  type EventName,
  type EventOf,
  type HandlerOptions,
  type Receiver,
  type ReceiverOptions,
} from "../../src/index.ts";
import { addHook, registerHooks } from "./nest/nest-hooks.ts";
import { assertMountOptions } from "./shared/mount-options.ts";
import { mountFirst } from "./nest/nest-mount.ts";
import { toPathTest } from "./shared/path.ts";

/** What {@link HooklineModule.forRootAsync} takes. */
export interface HooklineModuleOptions {
  /** Modules whose providers the factory injects. */
  imports?: any[] | undefined;
  /** The factory's arguments, as Nest injects them. */
  inject?: any[] | undefined;
  /** Says how the receiver is made. */
  useFactory(...deps: any[]): ReceiverOptions | Promise<ReceiverOptions>;
  /** `path` is the whole path, the app's global prefix included. `source` is asked with Express's request, or Node's under Fastify. */
  mount: MountOptions & { path: string };
}

/** A module as Nest imports it. */
export interface HooklineDynamicModule {
  module: any;
  global?: boolean;
  imports?: any[];
  providers?: any[];
  exports?: any[];
}

/**
 * A receiver in a Nest app, on Express or on Fastify. It is mounted before the app's body parser, and neither middleware nor guards,
 * interceptors, pipes and exception filters change its answers. It works from `onApplicationBootstrap` on, with every {@link OnHook}
 * of the app as its handlers, and closes in `onModuleDestroy`: call `app.enableShutdownHooks()`, and let services that
 * handlers use go in `beforeApplicationShutdown` or `onApplicationShutdown`.
 *
 * @example
 * imports: [HooklineModule.forRootAsync({
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ secret: config.get("SIGNING_SECRET"), inbox: sqliteInbox("inbox.db") }),
 *   mount: { path: "/webhooks" },
 * })]
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- a Nest module is a class
export class HooklineModule {
  /**
   * For the app's root module. The receiver can be injected everywhere.
   * @throws UsageError `option-invalid` for a `path` that no request can have
   */
  static forRootAsync(options: HooklineModuleOptions): HooklineDynamicModule {
    assertOptions("HooklineModule.forRootAsync", options, {
      imports: true,
      inject: true,
      useFactory: true,
      mount: true,
    });
    const { imports = [], inject = [], mount } = options;
    assertMountOptions("HooklineModule's `mount`", mount);
    // A configuration that lacks the path must not make every request of the app ours.
    toPathTest(mount.path ?? "");
    return {
      module: HooklineModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        {
          provide: RECEIVER,
          inject,
          useFactory: async (...deps: unknown[]) => createReceiver(await options.useFactory(...deps)),
        },
        {
          provide: COURSE,
          inject: [RECEIVER, HttpAdapterHost, DiscoveryService],
          useFactory: (receiver: Receiver, host: HttpAdapterHost, discovery: DiscoveryService) => {
            whenThere(host, (adapter) => mountFirst(adapter, receiver, mount));
            return courseOf(receiver, discovery);
          },
        },
      ],
      exports: [RECEIVER],
    };
  }
}

/**
 * Makes a method of a provider or controller a handler, in whatever module it is, as `receiver.on` does. Its class must have Nest's
 * default scope.
 *
 * @example
 * @OnHook(["email.created", "email.updated"], { timeoutMs: 60_000 })
 * async fetch(event: EventOf<"email.created" | "email.updated">, ctx: Context) { await this.mails.fetch(event.id, ctx.signal); }
 */
export function OnHook<const N extends EventName>(
  name: N | readonly N[],
  options: HandlerOptions<EventOf<N>> = {},
): HookDecorator<EventOf<N>> {
  return (target, key) => addHook(target, key, { names: name, options: options as HandlerOptions<AnyEvent> });
}

/** Stands on a method that takes these events. */
export interface HookDecorator<E> {
  /** @typeParam M the method's own type */
  <M extends (event: E, ctx: Context) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ): void;
}

/**
 * Injects the app's receiver: for its health, its jobs, its gate.
 *
 * @example
 * constructor(@InjectReceiver() private readonly receiver: Receiver) {}
 */
export function InjectReceiver(): ParameterDecorator & PropertyDecorator {
  return Inject(RECEIVER);
}

/** The same for all copies of this package. */
const RECEIVER = Symbol.for("hookline.nest.receiver");
const COURSE = Symbol("hookline.nest.course");

/** Nest's tests make the HTTP adapter after the providers; a worker without HTTP has none. */
function whenThere(host: HttpAdapterHost, mount: (adapter: HttpAdapterHost["httpAdapter"]) => void): void {
  if (host.httpAdapter) return mount(host.httpAdapter);
  host.init$.subscribe(() => {
    if (host.httpAdapter) mount(host.httpAdapter);
  });
}

function courseOf(receiver: Receiver, discovery: DiscoveryService): object {
  return {
    async onApplicationBootstrap(): Promise<void> {
      registerHooks(receiver, [...discovery.getProviders(), ...discovery.getControllers()]);
      try {
        await receiver.start();
      } catch (error) {
        // forwardInbox: this process receives, and the handlers are for `receiver.handle`.
        if (!isHooklineError(error, "inbox-cannot-work")) throw error;
      }
    },
    async onModuleDestroy(): Promise<void> {
      await receiver.close();
    },
  };
}
