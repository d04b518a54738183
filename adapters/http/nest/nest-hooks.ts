import {
  UsageError,
  type AnyEvent,
  type EventName,
  type Handler,
  type HandlerOptions,
  type Receiver,
} from "../../../src/index.ts";

/** One `@OnHook` of a method. */
export interface Hook {
  readonly names: EventName | readonly EventName[];
  readonly options: HandlerOptions<AnyEvent>;
}

/** What is used of Nest's wrapper around a provider or controller. */
export interface ProviderLike {
  readonly instance: unknown;
  readonly name: unknown;
  readonly isTransient: boolean;
  /** False for what Nest makes anew for each request. */
  isDependencyTreeStatic(): boolean;
}

type Key = string | symbol;

/** On a prototype, as a symbol that is one for all copies of this package: a map from a method's name to its hooks. */
const HOOKS: unique symbol = Symbol.for("hookline.nest.hooks") as never;

interface Hooked {
  readonly [HOOKS]?: Map<Key, readonly Hook[]>;
}

/** @throws UsageError `handler-invalid` for a static method, which belongs to no provider */
export function addHook(prototype: object, key: Key, hook: Hook): void {
  if (typeof prototype === "function")
    throw new UsageError("handler-invalid", `@OnHook stands on the static method ${prototype.name}.${String(key)}.`, {
      fix: "Put it on a method of the provider itself.",
    });
  const hooks = ownHooks(prototype) ?? new Map<Key, readonly Hook[]>();
  hooks.set(key, [...(hooks.get(key) ?? []), hook]);
  Object.defineProperty(prototype, HOOKS, { value: hooks, configurable: true });
}

/**
 * Registers every `@OnHook` of these providers.
 * @throws UsageError `handler-invalid` for a provider that lives shorter than the app, and whatever `receiver.on` throws
 */
export function registerHooks(receiver: Receiver, providers: readonly ProviderLike[]): void {
  // An alias is a second provider of the same instance.
  const seen = new Set<unknown>();
  for (const provider of providers) {
    const { instance } = provider;
    if (typeof instance !== "object" || instance === null || seen.has(instance)) continue;
    seen.add(instance);
    for (const [key, hooks] of hooksOf(instance)) {
      assertSingle(provider, key);
      const methods = instance as Record<Key, Handler>;
      const handler: Handler = (event, ctx) => (methods[key] as Handler).call(instance, event, ctx);
      for (const { names, options } of hooks) receiver.on(names, handler, options);
    }
  }
}

/** By method; one that a subclass decorates anew has the subclass's hooks alone. */
function hooksOf(instance: object): Map<Key, readonly Hook[]> {
  const found = new Map<Key, readonly Hook[]>();
  let prototype = Object.getPrototypeOf(instance) as object | null;
  for (; prototype !== null; prototype = Object.getPrototypeOf(prototype) as object | null)
    for (const [key, hooks] of ownHooks(prototype) ?? []) if (!found.has(key)) found.set(key, hooks);
  return found;
}

function ownHooks(prototype: Hooked): Map<Key, readonly Hook[]> | undefined {
  return Object.hasOwn(prototype, HOOKS) ? prototype[HOOKS] : undefined;
}

function assertSingle(provider: ProviderLike, key: Key): void {
  if (provider.isDependencyTreeStatic() && !provider.isTransient) return;
  throw new UsageError(
    "handler-invalid",
    `@OnHook stands on ${String(provider.name)}.${String(key)}, and Nest makes ${String(provider.name)} anew for each request or for each place that injects it; a handler runs outside of requests, and long after them.`,
    { fix: "Let the provider, and all that it injects, have the default scope; `moduleRef.resolve()` gets the rest." },
  );
}
