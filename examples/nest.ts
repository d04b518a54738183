// A receiver in a Nest app, with handlers in a provider. Node does not run Nest's decorators: esbuild compiles them.
// Try it: npx esbuild nest.ts | SIGNING_SECRET=whsec node --input-type=module -
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks
import { Inject, Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { EventOf } from "hookline";
import { HooklineModule, OnHook } from "hookline/nest";
import { sqliteInbox } from "hookline/sqlite";

const { SIGNING_SECRET: secret, PORT: port = 3000, INBOX: file = "inbox.db" } = process.env;

@Injectable()
class Mails {
  fetch(accountId: number, id: string): void {
    console.log(`account ${accountId}: fetched message ${id}`);
  }
}

@Injectable()
class MailHooks {
  @Inject(Mails) private readonly mails!: Mails;

  @OnHook(["email.created", "email.updated"], { timeoutMs: 10_000 })
  changed(event: EventOf<"email.created" | "email.updated">): void {
    this.mails.fetch(event.accountId, event.id);
  }
}

const hookline = HooklineModule.forRootAsync({
  useFactory: () => ({ secret, inbox: sqliteInbox(file) }),
  mount: { path: "/webhooks" },
});

@Module({ imports: [hookline], providers: [Mails, MailHooks] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ["error", "warn"], abortOnError: false });
await app.enableShutdownHooks().listen(port);
console.log(`listening on http://localhost:${port}/webhooks`);
