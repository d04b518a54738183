import {
  Controller,
  Injectable,
  Module,
  Scope,
  type BeforeApplicationShutdown,
  type OnModuleInit,
} from "@nestjs/common";
import {
  ApplicationConfig,
  MetadataScanner,
  NestApplication,
  NestContainer,
  NestFactory,
  type AbstractHttpAdapter,
} from "@nestjs/core";
import { DependenciesScanner, Injector, InstanceLoader, NoopGraphInspector } from "@nestjs/core/internal";
import {
  forwardInbox,
  memoryInbox,
  type Context,
  type EventOf,
  type Receiver,
  type ReceiverOptions,
  type StoredDelivery,
} from "hookline";
import { HooklineModule, InjectReceiver, OnHook } from "hookline/nest";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { send, serve } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { ACKNOWLEDGED, deliver, DELIVERY, SECRET } from "./harness.ts";
import { Holder, listening, nestApp, platforms, rootOf } from "./nest-apps.ts";

const path = "/webhooks";
const body = (resource: string, id: string): string =>
  JSON.stringify({ subscription: 1001, accountId: 2002, resource, payloads: [{ id, changeType: "created" }] });
const MAIL = body("/email/messages", "m-1");
const CONTACT = body("/contacts", "c-1");
const EVENT = body("/calendars/team/events", "e-1");

/** What handlers were told, in whatever module they are. */
@Injectable()
class Book {
  readonly lines: string[] = [];
}

@Module({ providers: [Book], exports: [Book] })
class BookModule {}

@Injectable()
class Mails {
  private readonly book: Book;
  constructor(book: Book) {
    this.book = book;
  }
  @OnHook(["email.created", "email.updated"], { timeoutMs: 5_000 })
  fetch(event: EventOf<"email.created" | "email.updated">, ctx: Context): void {
    this.book.lines.push(`${event.changeType} ${event.id}, attempt ${ctx.attempt}`);
  }
  @OnHook("email.created", { consumer: "search" })
  async index(event: EventOf<"email.created">): Promise<void> {
    this.book.lines.push(`indexed ${event.id}`);
  }
}

@Controller()
class People {
  private readonly book: Book;
  constructor(book: Book) {
    this.book = book;
  }
  @OnHook("contact.created")
  @OnHook("calendarEvent.created")
  add(event: EventOf<"contact.created" | "calendarEvent.created">): void {
    this.book.lines.push(`${event.type} ${event.id}`);
  }
}

@Module({ imports: [BookModule], providers: [Mails] })
class MailModule {}

@Module({ imports: [BookModule], controllers: [People] })
class PeopleModule {}

describe.each(platforms)("%s: @OnHook", (_, makeAdapter) => {
  test("makes handlers of methods in several modules, with what they inject", async () => {
    const { app, url } = await listening({ adapter: makeAdapter(), imports: [MailModule, PeopleModule] });
    for (const delivery of [MAIL, CONTACT, EVENT]) {
      expect(await deliver(url, delivery, { path })).toMatchObject(ACKNOWLEDGED);
    }
    const { lines } = app.get(Book, { strict: false });
    await eventually(() =>
      expect(lines.toSorted()).toEqual([
        "calendarEvent.created e-1",
        "contact.created c-1",
        "created m-1, attempt 1",
        "indexed m-1",
      ]),
    );
  });
});

describe("@OnHook", () => {
  /** Handlers of one module, run by a worker without HTTP. */
  async function handled(providers: readonly unknown[], delivery = MAIL): Promise<void> {
    @Module({ providers: providers as [] })
    class Own {}
    const { receiver } = await nestApp({ imports: [Own] });
    await receiver.handle(storedDelivery(delivery));
  }

  class Base {
    readonly seen: string[] = [];
    @OnHook("email.created")
    created(event: EventOf<"email.created">): void {
      this.seen.push(`base ${event.id}`);
    }
    @OnHook("contact.created")
    contact(event: EventOf<"contact.created">): void {
      this.seen.push(`contact ${event.id}`);
    }
  }

  test("is inherited; of an overridden method the subclass's runs, with its own hooks if it has any", async () => {
    const seen: string[] = [];
    class Own extends Base {
      override created(event: EventOf<"email.created">): void {
        seen.push(`own ${event.id}`);
      }
      @OnHook("calendarEvent.created")
      override contact(event: { readonly id: string }): void {
        seen.push(`own ${event.id}`);
      }
    }
    for (const delivery of [MAIL, CONTACT, EVENT]) await handled([Own], delivery);
    expect(seen).toEqual(["own m-1", "own e-1"]);
  });

  test("counts once for an instance that is provided twice, and not at all for what is no provider's", async () => {
    const base = new Base();
    await handled([
      { provide: Base, useValue: base },
      { provide: "alias", useExisting: Base },
      { provide: "same", useFactory: () => base },
      { provide: "text", useValue: "text" },
      { provide: "null", useValue: null },
      { provide: "bare", useValue: Object.create(null) },
    ]);
    expect(base.seen).toEqual(["base m-1"]);
  });

  test("twice for one name fails the start, as `on` does", async () => {
    class Again extends Base {}
    await expect(handled([Base, Again])).rejects.toMatchObject({ code: "handler-doubled" });
  });

  test("with an unknown name fails the start, as `on` does", async () => {
    class Wrong {
      // @ts-expect-error -- there is no such event
      @OnHook("email.create")
      handle(): void {}
    }
    await expect(handled([Wrong])).rejects.toMatchObject({
      name: "UsageError",
      code: "handler-unknown-name",
      fix: expect.stringContaining("email.created"),
    });
  });

  test.each([
    ["request", Scope.REQUEST],
    ["place that injects it", Scope.TRANSIENT],
  ])("of a provider that Nest creates for each %s fails the start, and says why", async (_, scope) => {
    @Injectable({ scope })
    class Short extends Base {}
    await expect(handled([Short])).rejects.toMatchObject({
      name: "UsageError",
      code: "handler-invalid",
      message: expect.stringContaining("@OnHook is on Short.created"),
      fix: expect.stringContaining("default scope"),
    });
  });

  test("of a provider that injects one of a request's fails the start too", async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    @Injectable()
    class Own extends Base {
      readonly tenant: Tenant;
      constructor(tenant: Tenant) {
        super();
        this.tenant = tenant;
      }
    }
    await expect(handled([Tenant, Own])).rejects.toMatchObject({ code: "handler-invalid" });
  });

  test("leaves providers of a request alone that have none", async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    await expect(handled([Tenant])).resolves.toBeUndefined();
  });

  test("on a static method is refused at once", () => {
    expect(() => {
      @Injectable()
      class Wrong {
        @OnHook("email.created")
        static handle(this: void): void {}
      }
      return Wrong;
    }).toThrow(expect.objectContaining({ code: "handler-invalid", message: expect.stringContaining("Wrong.handle") }));
  });

  test("without the module is a method like any other", async () => {
    const app = await NestFactory.create(MailModule, { logger: false, abortOnError: false });
    onTestFinished(() => app.close());
    await expect(app.init()).resolves.toBeDefined();
  });
});

describe("HooklineModule", () => {
  test("makes the receiver of what its factory injects, and waits for it", async () => {
    @Injectable()
    class Config implements OnModuleInit {
      readonly secret = SECRET;
      isUp = false;
      onModuleInit(): void {
        this.isUp = true;
      }
    }
    @Module({ providers: [Config], exports: [Config] })
    class ConfigModule {}
    @Module({
      imports: [
        HooklineModule.forRootAsync({
          imports: [ConfigModule],
          inject: [Config],
          useFactory: async ({ secret }: Config): Promise<ReceiverOptions> => {
            await Promise.resolve();
            return { secret, inbox: memoryInbox(), log: false };
          },
          mount: { path },
        }),
      ],
    })
    class AppModule {}
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
    onTestFinished(() => app.close());
    await app.init();
    const { url } = await serve(app.getHttpServer().listeners("request")[0] as never);
    expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
  });

  test("lets the receiver be injected in every module: constructor or property", async () => {
    @Injectable()
    class Gate {
      readonly receiver: Receiver;
      constructor(@InjectReceiver() receiver: Receiver) {
        this.receiver = receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe("the account was deleted"));
      }
    }
    @Module({ providers: [Gate] })
    class GateModule {}
    const { app, url, receiver } = await listening({ imports: [GateModule] });
    expect(app.get(Gate, { strict: false }).receiver).toBe(receiver);
    expect(await deliver(url, DELIVERY, { path })).toMatchObject({ status: 422 });
  });

  test("does not start what cannot: without a secret the app does not come up", async () => {
    await expect(nestApp({ receiver: { secret: undefined } })).rejects.toMatchObject({ code: "secret-missing" });
  });

  test("works, once the app is up", async () => {
    const { receiver } = await nestApp();
    expect(receiver.stats().role).toBe("working");
  });

  test("only receives where a queue of one's own stores: the handlers are for `handle`", async () => {
    const stored: StoredDelivery[] = [];
    const inbox = forwardInbox(async (deliveries) => void stored.push(...deliveries));
    const { app, url, receiver } = await listening({ receiver: { inbox }, imports: [MailModule] });
    await deliver(url, DELIVERY, { path });
    expect(receiver.stats()).toMatchObject({ role: "receiving", stored: 1 });
    for (const delivery of stored) await receiver.handle(delivery);
    expect(app.get(Book, { strict: false }).lines).toEqual(["created m-1, attempt 1", "indexed m-1"]);
  });

  test("works without HTTP too, in a context of the same module", async () => {
    const context = await NestFactory.createApplicationContext(rootOf({ imports: [MailModule] }), {
      logger: false,
      abortOnError: false,
    });
    onTestFinished(() => context.close());
    const { receiver } = context.get(Holder);
    expect(receiver.stats().role).toBe("working");
    await receiver.handle(storedDelivery(MAIL));
    expect(context.get(Book, { strict: false }).lines).toHaveLength(2);
  });

  test("closes the receiver before services go: a handler that runs is waited for", async () => {
    const begun = deferred();
    const ended = deferred();
    const course: string[] = [];
    @Injectable()
    class Slow implements BeforeApplicationShutdown {
      @OnHook("email.created")
      async handle(): Promise<void> {
        begun.resolve();
        await ended.promise;
        course.push("handled");
      }
      beforeApplicationShutdown(): void {
        course.push("gone");
      }
    }
    @Module({ providers: [Slow] })
    class SlowModule {}
    const { app, url, receiver } = await listening({ imports: [SlowModule] });
    await deliver(url, DELIVERY, { path });
    await begun.promise;
    const closed = app.close();
    await eventually(async () => expect(await deliver(url, DELIVERY, { path })).toMatchObject({ status: 503 }));
    ended.resolve();
    await closed;
    expect(course).toEqual(["handled", "gone"]);
    expect(receiver.stats().succeeded).toBe(1);
  });

  test.each(platforms)(
    "is mounted where the adapter comes after the providers, as in Nest's tests: %s",
    async (_, makeAdapter) => {
      const app = await testingApp(rootOf({ imports: [MailModule] }), makeAdapter());
      await app.listen(0, "127.0.0.1");
      const url = await app.getUrl();
      expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
      expect(await send(`${url}/other`)).toMatchObject({ status: 404 });
    },
  );
});

/** What `Test.createTestingModule().compile()` and `createNestApplication(adapter)` of @nestjs/testing do, in that order. */
async function testingApp(root: new () => object, adapter: AbstractHttpAdapter): Promise<NestApplication> {
  const config = new ApplicationConfig();
  const container = new NestContainer(config);
  const scanner = new DependenciesScanner(container, new MetadataScanner(), NoopGraphInspector, config);
  await scanner.scan(root);
  const loader = new InstanceLoader(container, new Injector(), NoopGraphInspector);
  loader.setLogger({ log() {}, error() {}, warn() {} } as never);
  await loader.createInstancesOfDependencies();
  container.setHttpAdapter(adapter);
  const app = new NestApplication(container, adapter, config, NoopGraphInspector, { forceCloseConnections: true });
  onTestFinished(() => app.close());
  return app;
}

/** A delivery as a queue keeps it. */
function storedDelivery(text: string): StoredDelivery {
  const headers = Object.entries(signedHeaders(text, { secret: SECRET }));
  const now = new Date().toISOString();
  return {
    id: "d-1",
    receivedAt: now,
    sentAt: now,
    signedBy: "test",
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    bodyBase64: Buffer.from(text).toString("base64"),
  };
}
