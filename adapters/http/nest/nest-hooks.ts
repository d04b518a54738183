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

/** The used fields of Nest's wrapper around a provider or controller. */
export interface ProviderLike {
  readonly instance: unknown;
  readonly name: unknown;
  readonly isTransient: boolean;
  /** False for a provider that Nest creates for each request. */
  isDependencyTreeStatic(): boolean;
}

type Key = string | symbol;

/** A prototype's map from a method's name to its hooks; one symbol for all copies of this package. */
const HOOKS: unique symbol = Symbol.for("hookline.nest.hooks") as never;

interface Hooked {
  readonly [HOOKS]?: Map<Key, readonly Hook[]>;
}

/** @throws UsageError `handler-invalid` for a static method, which belongs to no provider */
export function addHook(prototype: object, key: Key, hook: Hook): void {
  if (typeof prototype === "function")
    throw new UsageError("handler-invalid", `@OnHook is on the static method ${prototype.name}.${String(key)}.`, {
      fix: "Put it on a method of the provider itself.",
    });
  const hooks = ownHooks(prototype) ?? new Map<Key, readonly Hook[]>();
  hooks.set(key, [...(hooks.get(key) ?? []), hook]);
  Object.defineProperty(prototype, HOOKS, { value: hooks, configurable: true });
}

/**
 * Registers every `@OnHook` of these providers.
 * @throws UsageError `handler-invalid` for a provider without the default scope, and the errors of `receiver.on`
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

/** By method; where a subclass decorates it again, only the subclass's hooks. */
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
    `@OnHook is on ${String(provider.name)}.${String(key)}, and Nest creates a ${String(provider.name)} for each request or for each injection; a handler runs outside of requests.`,
    { fix: "Give the provider, and all that it injects, the default scope; get others by `moduleRef.resolve()`." },
  );
}
