// The Nest module fits the real framework, and its decorators stand where Nest's own stand.
import { Injectable, Module, type DynamicModule } from "@nestjs/common";
import { AbstractHttpAdapter } from "@nestjs/core";
import { memoryInbox, type Context, type EventOf, type Receiver, type ReceiverOptions } from "hookline";
import { HooklineModule, InjectReceiver, OnHook } from "hookline/nest";
import type { HttpAdapterLike } from "../../adapters/http/nest/nest-mount.ts";
import type { Expect, Fits } from "./support.ts";

declare const chance: boolean;

@Injectable()
class Config {
  readonly secret: string | undefined = process.env["SIGNING_SECRET"];
}

// As a module: with what its factory injects, or without; at once or later.
export const plain: DynamicModule = HooklineModule.forRootAsync({
  useFactory: () => ({ secret: "whsec", inbox: memoryInbox() }),
  mount: { path: "/webhooks" },
});
@Module({
  imports: [
    HooklineModule.forRootAsync({
      imports: chance ? [Config] : undefined,
      inject: [Config],
      useFactory: async ({ secret }: Config): Promise<ReceiverOptions> => ({ secret, inbox: memoryInbox() }),
      mount: { path: "/webhooks", source: "crm" },
    }),
  ],
})
export class AppModule {}
HooklineModule.forRootAsync({
  useFactory: () => ({ secret: undefined, inbox: memoryInbox() }),
  mount: { path: "/webhooks", source: chance ? (req) => String(req) : undefined },
});

// As decorators: methods that take what their event is, or less, and give back whatever they like.
@Injectable()
export class Mails {
  @InjectReceiver() readonly receiver!: Receiver;
  constructor(@InjectReceiver() receiver: Receiver) {
    receiver.onDead(() => {});
  }
  @OnHook("email.created") created(event: EventOf<"email.created">, ctx: Context): string {
    return `${event.id} ${ctx.attempt}`;
  }
  @OnHook(["email.created", "email.updated"], { consumer: "search", lane: (event) => event.id, timeoutMs: undefined })
  async index(event: EventOf<"email.created" | "email.updated">): Promise<void> {
    this.created(event as EventOf<"email.created">, await Promise.resolve({} as Context));
  }
  @OnHook("email.signal") @OnHook("task.signal") signalled(): void {}
  @OnHook("email") all(event: { readonly id: string }): void {
    void event;
  }
  @OnHook("calendarEvent.changes", { lane: "account" }) sync(event: EventOf<"calendarEvent.changes">): number {
    return event.changes.length;
  }
}

export class Wrong {
  // @ts-expect-error -- there is no such event
  @OnHook("email.create") misspelt(): void {}
  // @ts-expect-error -- a method for another event
  @OnHook("email.created") another(event: EventOf<"contact.created">): void {
    void event;
  }
  // @ts-expect-error -- a signal has no record
  @OnHook("email.signal") record(event: { readonly id: string }): void {
    void event;
  }
  // @ts-expect-error -- a misspelt option
  @OnHook("email.created", { timeout: 1 }) option(): void {}
  // @ts-expect-error -- not a method
  @OnHook("email.created") readonly field = 1;
  // @ts-expect-error -- a method that wants more than there is
  @OnHook("email.created") more(event: EventOf<"email.created">, ctx: Context, third: string): void {
    void [event, ctx, third];
  }
}

// @ts-expect-error -- a mount without a path would take every request of the app
HooklineModule.forRootAsync({ useFactory: () => ({ secret: "whsec", inbox: memoryInbox() }), mount: {} });
// @ts-expect-error -- a receiver's options without an inbox
HooklineModule.forRootAsync({ useFactory: () => ({ secret: "whsec" }), mount: { path: "/webhooks" } });
// @ts-expect-error -- without a mount
HooklineModule.forRootAsync({ useFactory: () => ({ secret: "whsec", inbox: memoryInbox() }) });

export type NestFits = [Expect<Fits<AbstractHttpAdapter, HttpAdapterLike>>];
