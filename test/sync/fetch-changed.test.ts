import { createClient } from "hookline/client";
import { fetchChanged } from "hookline/sync";
import { deliver } from "hookline/testing";
import { createReceiver, memoryInbox } from "hookline";
import { testClock } from "hookline/testing";
import { expect, onTestFinished, test } from "vitest";
import { startService, type Answer } from "../client/support.ts";
import { rig } from "../support/rig.ts";

/** A receiver that fetches contacts and tasks, from a service that answers so. */
async function start(answerOf: (path: string, nth: number) => Answer) {
  const { url, requests } = await startService(({ path }, nth) => answerOf(path, nth));
  const client = createClient({ baseUrl: url, token: "t", retry: false });
  const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), clock: testClock(), log: false });
  onTestFinished(() => void receiver.close());
  const copy: string[] = [];
  const options = {
    client: () => client,
    apply: async (record: { readonly id: string }) => void copy.push(`apply ${record.id}`),
    remove: async (id: string) => void copy.push(`remove ${id}`),
  };
  fetchChanged(receiver, "contact", options);
  fetchChanged(receiver, "task", options);

  async function send(resource: string, changeType: string): Promise<readonly string[]> {
    const wire = { subscription: 1, accountId: 2, resource, payloads: [{ id: "r-1", changeType }] };
    const delivery = await deliver(receiver, { wire }, { secret: "s" });
    const jobs = await delivery.settled();
    return jobs.map(({ state }) => state);
  }

  return { send, copy, requests };
}

const record: Answer = { json: { id: "r-1", name: "Ada Byron" } };

test.each(["created", "updated", "deleted"])("a record that was %s is fetched, and applied as it is", async (type) => {
  const { send, copy, requests } = await start(() => record);
  expect(await send("/contacts", type)).toEqual(["done"]);
  expect(await send("/tasklists/list%20a/tasks", type)).toEqual(["done"]);
  expect(copy).toEqual(["apply r-1", "apply r-1"]);
  expect(requests.map(({ path }) => path)).toEqual(["/v1/contacts/r-1", "/v1/tasklists/list%20a/tasks/r-1"]);
});

test("one that was deleted and is not there is removed at once", async () => {
  const { send, copy, requests } = await start(() => ({ status: 404 }));
  expect(await send("/contacts", "deleted")).toEqual(["done"]);
  expect(copy).toEqual(["remove r-1"]);
  expect(requests).toHaveLength(1);
});

test("one that was created and is not there yet is looked for again", async () => {
  const { send, copy } = await start((_, nth) => (nth < 2 ? { status: 404 } : record));
  expect(await send("/contacts", "created")).toEqual(["done"]);
  expect(copy).toEqual(["apply r-1"]);
});

test("one that stays away is removed", async () => {
  const { send, copy, requests } = await start(() => ({ status: 404 }));
  expect(await send("/contacts", "updated")).toEqual(["done"]);
  expect(copy).toEqual(["remove r-1"]);
  expect(requests).toHaveLength(3);
});

test("another error is not a removal", async () => {
  const { send, copy } = await start((_, nth) => (nth === 0 ? { status: 503 } : record));
  expect(await send("/contacts", "deleted")).toEqual(["done"]);
  expect(copy).toEqual(["apply r-1"]);
});

test("other families and options are refused, with what to do", () => {
  const options = { client: () => createClient({ token: "t" }), apply: async () => {}, remove: async () => {} };
  expect(() => fetchChanged(rig().receiver, "email" as never, options)).toThrow(/use `deltaSync`/);
  expect(() => fetchChanged(rig().receiver, "contact", { ...options, known: () => [] } as never)).toThrow(/known/);
  expect(() => fetchChanged(rig().receiver, "task", { ...options, remove: undefined } as never)).toThrow(/remove/);
});
