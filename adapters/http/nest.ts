// oxlint-disable typescript/no-explicit-any -- Nest's own types have `any` there, and users' types must fit
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
import { mountFirst } from "./nest/nest-mount.ts";
import { assertMountOptions, toPathTest } from "./shared/mount.ts";

/** Options of {@link HooklineModule.forRootAsync}. */
export interface HooklineModuleOptions {
  /** Modules with the providers that `inject` names. */
  imports?: any[] | undefined;
  /** Providers that Nest passes to the factory. */
  inject?: any[] | undefined;
  /** Returns the receiver's options. */
  useFactory(...deps: any[]): ReceiverOptions | Promise<ReceiverOptions>;
  /** `path` is the whole path, with the app's global prefix. `source` gets Express's request, or Node's under Fastify. */
  mount: MountOptions & { path: string };
}

/** A dynamic module of Nest. */
export interface HooklineDynamicModule {
  module: any;
  global?: boolean;
  imports?: any[];
  providers?: any[];
  exports?: any[];
}

/**
 * A receiver in a Nest app, on Express or on Fastify. It is mounted before the app's body parser; middleware, guards, interceptors,
 * pipes and exception filters cannot change its answers. It starts in `onApplicationBootstrap`, with every {@link OnHook} of the app
 * as a handler, and closes in `onModuleDestroy`: call `app.enableShutdownHooks()`, and close services that handlers use in
 * `beforeApplicationShutdown` or `onApplicationShutdown`.
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
    // Without a path the mount would take every request of the app.
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
          provide: LIFECYCLE,
          inject: [RECEIVER, HttpAdapterHost, DiscoveryService],
          useFactory: (receiver: Receiver, host: HttpAdapterHost, discovery: DiscoveryService) => {
            whenAvailable(host, (adapter) => mountFirst(adapter, receiver, mount));
            return lifecycleHooks(receiver, discovery);
          },
        },
      ],
      exports: [RECEIVER],
    };
  }
}

/**
 * Registers a method of a provider or controller of any module as a handler, as `receiver.on` does. Its class must have Nest's default
 * scope.
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

/** For a method that takes these events. */
export interface HookDecorator<E> {
  /** @typeParam M the method's own type */
  <M extends (event: E, ctx: Context) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ): void;
}

/**
 * Injects the app's receiver, for example to read its health or its jobs.
 *
 * @example
 * constructor(@InjectReceiver() private readonly receiver: Receiver) {}
 */
export function InjectReceiver(): ParameterDecorator & PropertyDecorator {
  return Inject(RECEIVER);
}

/** What the app's receiver is provided under: `app.get<Receiver>(RECEIVER)`. One symbol for all copies of this package. */
export const RECEIVER: unique symbol = Symbol.for("hookline.nest.receiver");
const LIFECYCLE = Symbol("hookline.nest.lifecycle");

/** In Nest's tests the HTTP adapter is created after the providers; a worker without HTTP has none. */
function whenAvailable(host: HttpAdapterHost, mount: (adapter: HttpAdapterHost["httpAdapter"]) => void): void {
  if (host.httpAdapter) return mount(host.httpAdapter);
  host.init$.subscribe(() => {
    if (host.httpAdapter) mount(host.httpAdapter);
  });
}

function lifecycleHooks(receiver: Receiver, discovery: DiscoveryService): object {
  return {
    async onApplicationBootstrap(): Promise<void> {
      registerHooks(receiver, [...discovery.getProviders(), ...discovery.getControllers()]);
      try {
        await receiver.start();
      } catch (error) {
        // With forwardInbox this process only receives: its handlers run by `receiver.handle`.
        if (!isHooklineError(error, "inbox-cannot-work")) throw error;
      }
    },
    async onModuleDestroy(): Promise<void> {
      await receiver.close();
    },
  };
}
