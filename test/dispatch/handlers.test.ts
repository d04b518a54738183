import { UsageError, type EventName } from "hookline";
import { describe, expect, test } from "vitest";
import { createHandlers, type HandlerOptions, type Handlers } from "../../src/dispatch/handlers.ts";
import { HANDLER_NAMES } from "../../src/protocol/event-names.ts";

const limits = { attempts: Infinity, retryForMs: 86_400_000, timeoutMs: 30_000 };

/** Handlers registered under these names, each name its own key. */
function handlers(...registered: readonly (EventName | readonly EventName[] | [EventName, HandlerOptions<never>])[]) {
  const made = createHandlers(limits);
  for (const one of registered) {
    const [names, options] =
      typeof one === "string" ? [[one], {}] : typeof one[1] === "object" ? [[one[0]], one[1]] : [one, {}];
    add(made, names as EventName[], options);
  }
  return made;
}

function add(made: Handlers, names: readonly EventName[], options: HandlerOptions<never> = {}): void {
  made.add(names, () => {}, options);
}

/** Who handles events of this type: consumer and names. */
function routes(made: Handlers, type: string): string[] {
  return made.routes(type).map(({ consumer, key }) => `${consumer}: ${key}`);
}

function refusal(run: () => void): UsageError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return error as UsageError;
  }
  throw new Error("expected it to throw");
}

describe("one handler per event and consumer, the most specific:", () => {
  test("`email.created` before `email` before `*`", () => {
    const made = handlers("*", "email", "email.created");
    expect(routes(made, "email.created")).toEqual(["default: email.created"]);
    expect(routes(made, "email.updated")).toEqual(["default: email"]);
    expect(routes(made, "contact.created")).toEqual(["default: *"]);
  });

  test("the order of registration does not matter", () => {
    expect(routes(handlers("email.created", "email", "*"), "email.created")).toEqual(["default: email.created"]);
  });

  test("one handler may take several names", () => {
    const made = handlers(["email.created", "contact"]);
    expect(routes(made, "email.created")).toEqual(["default: email.created,contact"]);
    expect(routes(made, "contact.deleted")).toEqual(["default: email.created,contact"]);
    expect(routes(made, "email.deleted")).toEqual([]);
  });

  test.each([
    ["tracking", "tracking.open"],
    ["lifecycle", "lifecycle.error"],
    ["task", "task.deleted"],
    ["booking", "booking"],
  ] as const)("the family %s takes %s", (family, type) => {
    expect(routes(handlers(family), type)).toEqual([`default: ${family}`]);
  });

  test("a family does not take the signals of it, which have no record; `*` does", () => {
    expect(routes(handlers("email"), "email.signal")).toEqual([]);
    expect(routes(handlers("email", "*"), "email.signal")).toEqual(["default: *"]);
    expect(routes(handlers("email.signal", "*"), "email.signal")).toEqual(["default: email.signal"]);
  });

  test("`.changes` takes the changes and the signals of its family", () => {
    const made = handlers("email.changes", "*");
    for (const type of ["email.created", "email.updated", "email.deleted", "email.signal"])
      expect(routes(made, type)).toEqual(["default: email.changes"]);
    expect(routes(made, "contact.created")).toEqual(["default: *"]);
  });

  test("one handler may take `.changes` beside other names: those as a batch, these one at a time", () => {
    const made = handlers(["email.changes", "contact", "calendarEvent.changes"]);
    const batched = ["email.created", "contact.created", "calendarEvent.signal"].map(
      (type) => made.routes(type)[0]?.batches,
    );
    expect(batched).toEqual([true, false, true]);
    const lanes = ["email.created", "contact.created"].map((type) => made.routes(type)[0]?.lane);
    expect(lanes).toEqual(["resource", "record"]);
  });

  test("`unknown` must be asked for: it is no part of `*`", () => {
    expect(routes(handlers("*"), "unknown")).toEqual([]);
    expect(routes(handlers("unknown"), "unknown")).toEqual(["default: unknown"]);
  });

  test("an event without a handler has no route", () => {
    expect(routes(handlers("email"), "booking")).toEqual([]);
    expect(handlers("email").find("default", "booking")).toBeUndefined();
    expect(handlers("email").find("nobody", "email.created")).toBeUndefined();
  });

  test("each consumer has its own most specific one", () => {
    const made = handlers("email", ["email.created", { consumer: "search" }], ["*", { consumer: "audit" }]);
    expect(routes(made, "email.created")).toEqual(["default: email", "search: email.created", "audit: *"]);
    expect(routes(made, "email.deleted")).toEqual(["default: email", "audit: *"]);
    expect(made.find("search", "email.created")?.key).toBe("email.created");
  });

  test("says whether there is any handler", () => {
    expect([handlers().some(), handlers("email").some()]).toEqual([false, true]);
  });

  test("says which families have a handler", () => {
    const made = handlers("email.created", ["contact", { consumer: "search" }], "*");
    expect(["email", "contact", "task"].map((family) => made.knowsFamily(family))).toEqual([true, true, false]);
  });
});

describe("a handler is refused at once:", () => {
  test("a second one for the same name and consumer", () => {
    const error = refusal(() => handlers("email", "email"));
    expect(error.code).toBe("handler-doubled");
    expect(error.fix).toContain('{ consumer: "other" }');
    expect(() => handlers("email", ["email", { consumer: "search" }])).not.toThrow();
  });

  test("the same name twice in one call", () => {
    expect(refusal(() => handlers(["email.created", "email.created"])).code).toBe("handler-doubled");
  });

  test.each([
    ["email.created", "email.changes"],
    ["email.changes", "email"],
    ["calendarEvent.changes", "calendarEvent.signal"],
  ] as const)("%s beside %s of its family and consumer", (one, other) => {
    const error = refusal(() => handlers(one, other));
    expect(error.code).toBe("handler-doubled");
    expect(error.fix).toContain("another consumer");
    expect(() => handlers(one, [other, { consumer: "search" }])).not.toThrow();
  });

  test.each(["emails", "email.create", "email.", "", "Email", "booking.created", "toString"])(
    "the unknown name %o, and the allowed ones are listed",
    (name) => {
      const error = refusal(() => handlers(name as EventName));
      expect(error.code).toBe("handler-unknown-name");
      for (const allowed of HANDLER_NAMES) expect(error.fix).toContain(allowed);
    },
  );

  test.each([undefined, null, 5, {}])("%o for a name", (name) => {
    expect(refusal(() => add(createHandlers(limits), [name as EventName])).code).toBe("handler-unknown-name");
  });

  test("no name at all", () => {
    expect(refusal(() => handlers([])).code).toBe("handler-invalid");
  });

  test("one that is no function", () => {
    const error = refusal(() => createHandlers(limits).add(["email"], "handler" as never, {}));
    expect(error).toMatchObject({ code: "handler-invalid", message: expect.stringContaining("got string") });
  });

  test("after the start", () => {
    const made = handlers("email");
    made.seal();
    const error = refusal(() => add(made, ["contact"]));
    expect(error).toMatchObject({ code: "handlers-sealed", fix: expect.stringContaining("before") });
    expect(made.sealed).toBe(true);
    expect(routes(made, "email.created")).toEqual(["default: email"]);
    expect(routes(made, "email.created")).toEqual(["default: email"]);
  });

  test.each([
    [{ attempts: 0 }, "attempts"],
    [{ attempts: Number.NaN }, "attempts"],
    [{ retryForMs: -1 }, "retryForMs"],
    [{ timeoutMs: -1 }, "timeoutMs"],
    [{ timeoutMs: "soon" as never }, "timeoutMs"],
  ])("with %o, and says what was expected", (options, name) => {
    const error = refusal(() => handlers(["email", options]));
    expect(error).toMatchObject({ code: "option-invalid", message: expect.stringContaining(name) });
  });

  test("with a lane that is none, or an empty consumer", () => {
    expect(refusal(() => handlers(["email", { lane: "thread" as never }])).message).toContain(
      "record, resource, account, none",
    );
    expect(refusal(() => handlers(["email", { consumer: "" }])).code).toBe("handler-invalid");
  });

  test.each(["a\0b", "a\uD800b", "\uDC00"])("with the consumer %j, which no table holds as it is", (consumer) => {
    const error = refusal(() => handlers(["email", { consumer }]));
    expect(error).toMatchObject({ code: "handler-invalid", message: expect.stringContaining("`consumer`") });
    expect(() => handlers(["email", { consumer: "a\u{1F600}b" }])).not.toThrow();
  });

  test("and what was refused leaves nothing behind", () => {
    const made = handlers("contact");
    refusal(() => add(made, ["email", "contact"]));
    refusal(() => add(made, ["task", "nonsense" as EventName]));
    expect([routes(made, "email.created"), routes(made, "task.created")]).toEqual([[], []]);
  });
});

describe("what a handler does not say", () => {
  test("is the receiver's: limits", () => {
    const [own] = handlers(["email", { attempts: 3, timeoutMs: 0 }]).routes("email.created");
    expect(own?.limits).toEqual({ attempts: 3, retryForMs: 86_400_000, timeoutMs: 0 });
  });

  test("is the default: consumer, lane, merging", () => {
    const [one] = handlers("email").routes("email.created");
    expect(one).toMatchObject({ consumer: "default", lane: "record", merge: true, batches: false });
    const [batch] = handlers("email.changes").routes("email.created");
    expect(batch).toMatchObject({ lane: "resource", batches: true });
    const [other] = handlers(["email.changes", { lane: "account", merge: false }]).routes("email.created");
    expect(other).toMatchObject({ lane: "account", merge: false });
  });
});

describe("the types that are handled", () => {
  const handled = (made: Handlers): string[] => made.handled().map(({ type, consumer }) => `${type} ${consumer}`);

  test("are those of events, once for each consumer", () => {
    const made = handlers("email.created", ["email", { consumer: "search" }], "lifecycle");
    expect(handled(made)).toEqual([
      "email.created default",
      "email.created search",
      "email.updated search",
      "email.deleted search",
      "lifecycle.error default",
      "lifecycle.active default",
    ]);
  });

  test("of `.changes` are its family's, signals too", () => {
    expect(handled(handlers("task.changes"))).toEqual([
      "task.created default",
      "task.updated default",
      "task.deleted default",
      "task.signal default",
    ]);
  });

  test("are none without a handler", () => {
    expect(handled(handlers())).toEqual([]);
  });
});
