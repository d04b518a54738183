import { forwardInbox, type Inbox, type RawRequest } from "hookline";
import { expect, onTestFinished, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { changes, mounted, type Setup } from "../support/mounted.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** What `throw fetch(url)` throws, where `await` is missing. */
function rejecting(): unknown {
  return Promise.reject(new Error("no connection"));
}

/** Throws it at once, which an `async` function cannot. */
function throwing(): never {
  throw rejecting();
}

const inboxes: readonly (readonly [string, () => Inbox])[] = [
  ["the function of `forwardInbox`", () => forwardInbox(throwing)],
  [
    "one result of the function of `forwardInbox`",
    () => forwardInbox(async (all) => all.map(() => ({ status: "rejected", reason: rejecting() }) as const)),
  ],
  ["an inbox", () => stubInbox(() => ({ store: throwing }))],
];
const raw = { method: "POST", url: "/", body: Buffer.from(changes()) };

test.each<[string, () => Setup, Partial<RawRequest>]>([
  [
    "the source of a request",
    () => ({}),
    {
      get source() {
        return throwing();
      },
    },
  ],
  [
    "the body of a request",
    () => ({}),
    {
      get body() {
        return throwing();
      },
    },
  ],
  ["a function that reads the body", () => ({}), { body: throwing }],
  ["the body's stream", () => ({}), { body: { [Symbol.asyncIterator]: throwing } }],
  ...inboxes.map(([name, make]) => [name, () => ({ inbox: make() }), {}] as [string, () => Setup, object]),
])(
  "a promise that %s throws, and that rejects, refuses the request and does not end the process",
  async (_, setup, of) => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const { receiver, signed } = await mounted(setup());
    const request = Object.defineProperties(
      { ...raw, headers: signed(changes()) },
      Object.getOwnPropertyDescriptors(of),
    );
    expect(await receiver.receive(request)).toMatchObject({ status: 503 });
    await turns();
    expect(unhandled).toEqual([]);
  },
);
