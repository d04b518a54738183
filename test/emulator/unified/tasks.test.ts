import { describe, expect, test } from "vitest";
import type { AccountSeed, EmulatorOptions } from "../../../src/emulator.ts";
import { call, startEmulator, startReceiver } from "../support.ts";

async function startTasks(seed: AccountSeed = {}, options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account(seed);
  const ask = (line: string, body?: unknown, etag?: unknown) =>
    call(emulator, line, {
      token: account.token,
      ...(body !== undefined && { body }),
      ...(etag !== undefined && { headers: { "If-Match": etag as string } }),
    });
  const listsOf = async (query = "") =>
    (await ask(`GET /v1/tasklists${query}`)).json as {
      readonly records: readonly Record<string, unknown>[];
      readonly nextPageToken?: string;
    };
  return { emulator, account, ask, listsOf };
}

const TASKS = "/v1/tasklists/default/tasks";

describe("/v1/tasklists", () => {
  test("GET lists the default list and those of the seed, in pages", async () => {
    const { listsOf } = await startTasks({ taskLists: [{ title: "Home" }, { title: "Work" }] }, { pageSize: 2 });
    const first = await listsOf();
    expect(first.records).toMatchObject([
      { title: "Tasks", defaultList: true, owner: true, shared: false, emailsList: false },
      { title: "Home", defaultList: false },
    ]);
    const second = await listsOf(`?pageToken=${String(first.nextPageToken)}`);
    expect(second.records).toMatchObject([{ title: "Work" }]);
    expect(second).not.toHaveProperty("nextPageToken");
  });

  test("POST answers 201 with the list itself, GET gets it, by the alias default too", async () => {
    const { ask, listsOf } = await startTasks();
    const { status, json } = await ask("POST /v1/tasklists", { title: "Errands" });
    expect({ status, json }).toMatchObject({ status: 201, json: { title: "Errands", defaultList: false } });
    expect((await ask(`GET /v1/tasklists/${String(json["id"])}`)).json).toEqual(json);
    expect((await ask("GET /v1/tasklists/default")).json).toEqual((await listsOf()).records[0]);
    expect((await ask("POST /v1/tasklists", {})).json["message"]).toContain('"title"');
    expect(await ask("GET /v1/tasklists/none")).toMatchObject({ status: 404, json: { code: "not_found" } });
  });

  test("PATCH renames it where If-Match is the etag: 400 without, 412 with another", async () => {
    const { ask } = await startTasks();
    const { json: list } = await ask("POST /v1/tasklists", { title: "Errands" });
    const line = `PATCH /v1/tasklists/${String(list["id"])}`;
    const { status, json } = await ask(line, { title: "Shopping" }, list["etag"]);
    expect({ status, json }).toMatchObject({ status: 200, json: { id: list["id"], title: "Shopping" } });
    expect((await ask(line, { title: "x" })).status).toBe(400);
    expect((await ask(line, { title: "x" }, list["etag"])).status).toBe(412);
    expect((await ask(`GET /v1/tasklists/${String(list["id"])}`)).json).toEqual(json);
  });

  test("DELETE deletes it with its tasks, each of which is announced; the default one stays", async () => {
    const { emulator, account, ask } = await startTasks();
    const { json: list } = await ask("POST /v1/tasklists", { title: "Errands" });
    const id = String(list["id"]);
    const { json: task } = await ask(`POST /v1/tasklists/${id}/tasks`, { title: "Milk" });
    const receiver = await startReceiver();
    await emulator.subscribe(account, `/tasklists/${id}/tasks`, receiver.url);
    expect(await ask(`DELETE /v1/tasklists/${id}`)).toMatchObject({ status: 200, json: { status: "Ok" } });
    expect((await ask(`GET /v1/tasklists/${id}/tasks`)).status).toBe(404);
    expect(await ask("DELETE /v1/tasklists/default")).toMatchObject({ status: 403, json: { code: "forbidden" } });
    await emulator.settled();
    expect(receiver.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
      { payloads: [{ id: task["id"], changeType: "deleted" }] },
    ]);
  });
});

describe("/v1/tasklists/{id}/tasks", () => {
  test("GET lists tasks in pages; each list has its own", async () => {
    const { ask, listsOf } = await startTasks(
      {
        tasks: [{ title: "a" }, { title: "b" }, { title: "c" }],
        taskLists: [{ title: "Home", tasks: [{ title: "d" }] }],
      },
      { pageSize: 2 },
    );
    const first = await ask(`GET ${TASKS}`);
    expect(first.json["records"]).toMatchObject([{ title: "a" }, { title: "b" }]);
    const token = String(first.json["nextPageToken"]);
    expect((await ask(`GET ${TASKS}?pageToken=${token}`)).json["records"]).toMatchObject([{ title: "c" }]);
    const home = `/v1/tasklists/${String((await listsOf()).records[1]?.["id"])}/tasks`;
    expect((await ask(`GET ${home}`)).json["records"]).toMatchObject([{ title: "d" }]);
    expect((await ask(`GET ${home}?pageToken=${token}`)).json["code"]).toBe("token.notValid");
  });

  test("POST and PATCH answer id, etag and record; If-Match may be left out, 412 where it is another", async () => {
    const { ask } = await startTasks();
    const { status, json } = await ask(`POST ${TASKS}`, { title: "Call", importance: "high", previousId: "t-0" });
    expect(status).toBe(201);
    expect(Object.keys(json).toSorted()).toEqual(["etag", "id", "record"]);
    const { id, etag, record } = json;
    expect(record).toMatchObject({ id, etag, title: "Call", importance: "high", status: "notStarted" });
    for (const field of ["previousId", "createdTime", "completed"]) expect(record).not.toHaveProperty(field);
    expect((await ask(`GET ${TASKS}/${String(id)}`)).json).toEqual(record);

    const updated = await ask(`PATCH ${TASKS}/${String(id)}`, { notes: "soon" });
    expect(updated.json).toMatchObject({ id, record: { title: "Call", notes: "soon", etag: updated.json["etag"] } });
    expect(Object.keys(updated.json).toSorted()).toEqual(["etag", "id", "record"]);
    expect((await ask(`PATCH ${TASKS}/${String(id)}`, { notes: "x" }, etag)).status).toBe(412);
    expect((await ask(`PATCH ${TASKS}/${String(id)}`, { notes: "y" }, updated.json["etag"])).status).toBe(200);
  });

  test("a task has the time at which it was completed, until it is reopened", async () => {
    const { emulator, ask } = await startTasks();
    const { id } = (await ask(`POST ${TASKS}`, { title: "Call" })).json;
    const update = async (body: object) => (await ask(`PATCH ${TASKS}/${String(id)}`, body)).json["record"];
    const completed = new Date(emulator.clock.now()).toISOString();
    expect(await update({ status: "completed" })).toMatchObject({ status: "completed", completed });
    await emulator.advance(60_000);
    expect(await update({ notes: "done", completed: "2020-01-01T00:00:00Z" })).toMatchObject({ completed });
    expect(await update({ status: "inProgress" })).not.toHaveProperty("completed");
  });

  test("DELETE answers { status }, 404 afterwards", async () => {
    const { ask } = await startTasks();
    const { id } = (await ask(`POST ${TASKS}`, { title: "Call" })).json;
    expect(await ask(`DELETE ${TASKS}/${String(id)}`)).toMatchObject({ status: 200, json: { status: "Ok" } });
    for (const method of ["GET", "PATCH", "DELETE"])
      expect((await ask(`${method} ${TASKS}/${String(id)}`)).status).toBe(404);
  });

  test.each([
    ["status", { status: "done" }],
    ["importance", { importance: 1 }],
    ["due", { due: "tomorrow" }],
    ["title", { title: 5 }],
  ])("400 that names %s", async (field, fields) => {
    const { ask } = await startTasks();
    const { status, json } = await ask(`POST ${TASKS}`, fields);
    expect({ status, message: json["message"] }).toEqual({
      status: 400,
      message: expect.stringContaining(`The field "${field}" is wrong: `) as string,
    });
  });

  test("404 for no list, 401 without a token", async () => {
    const { emulator, ask } = await startTasks();
    for (const line of [
      "GET /v1/tasklists/none/tasks",
      "POST /v1/tasklists/none/tasks",
      "POST /v1/tasklists/none/sync",
    ])
      expect((await ask(line)).status, line).toBe(404);
    for (const line of ["GET /v1/tasklists", `GET ${TASKS}`, `PATCH ${TASKS}/1`])
      expect((await call(emulator, line)).status, line).toBe(401);
  });
});

test("a sync skips tasks that were completed before a date; one that is completed later is in it", async () => {
  const { emulator, ask } = await startTasks({
    tasks: [{ title: "old", completed: "2025-12-31T10:00:00Z" }, { title: "open" }],
  });
  const { json } = await ask("POST /v1/tasklists/default/sync?skipCompletedBeforeDate=2026-01-01T00:00:00Z");
  const line = "GET /v1/tasklists/default/sync/updated?deltaToken=";
  const first = await ask(line + String(json["syncUpdatedToken"]));
  const [open] = first.json["records"] as readonly { readonly id: string }[];
  expect(first.json["records"]).toMatchObject([{ title: "open" }]);
  await ask(`PATCH ${TASKS}/${String(open?.id)}`, { status: "completed" });
  const next = await ask(line + String(first.json["nextDeltaToken"]));
  expect(next.json["records"]).toMatchObject([
    { title: "open", completed: new Date(emulator.clock.now()).toISOString() },
  ]);
  const all = await ask("POST /v1/tasklists/default/sync");
  expect((await ask(line + String(all.json["syncUpdatedToken"]))).json["length"]).toBe(2);
  const wrong = await ask("POST /v1/tasklists/default/sync?skipCompletedBeforeDate=yesterday");
  expect(wrong.json["message"]).toContain('"skipCompletedBeforeDate"');
});
