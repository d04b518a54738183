import { expect, test } from "vitest";
import { NotFound } from "../../../src/client.ts";
import { all, startMail } from "./mail-support.ts";

test("POST /v1/email/messages/{messageId}/reply answers the sender, in the conversation", async () => {
  const { emulator, account, client, notified } = await startMail();
  const ada = await emulator.account({ email: "ada@example.com" });
  const asked = await account.receiveMail({ subject: "Engine", from: { address: "Ada@example.com" } });
  await notified();
  const reply = await client.messages.reply(
    asked.id,
    { body: "Yes\nof course" },
    { bodyType: "text", returnIds: true },
  );
  expect(reply).toMatchObject({ status: "Ok", threadId: asked.threadId });
  const sent = await client.messages.get(reply.id ?? "");
  const question = await client.messages.get(asked.id);
  expect(sent).toMatchObject({
    subject: "Re: Engine",
    to: [{ address: "Ada@example.com" }],
    body: "<p>Yes<br>of course</p>",
    inReplyTo: question.internetMessageId,
    references: question.internetMessageId,
    sysLabels: ["sent"],
  });
  expect(await notified()).toMatchObject([{ id: sent.id, changeType: "created" }]);
  const arrived = await (await fetch(`${emulator.url}/v1/email/messages`, bearer(ada.token))).text();
  expect(arrived).toContain("Re: Engine");
  const again = await client.messages.reply(
    sent.id,
    { subject: "More", cc: [{ address: "b@example.com" }] },
    { returnIds: true },
  );
  expect(await client.messages.get(again.id ?? "")).toMatchObject({
    subject: "More",
    to: [],
    threadId: asked.threadId,
  });
  const own = await client.messages.reply(sent.id, {}, { returnIds: true });
  expect(await client.messages.get(own.id ?? "")).toMatchObject({ subject: "Re: Engine", to: sent.to });
  await expect(client.messages.reply("none", {})).rejects.toThrow(NotFound);
  const nobody = await account.receiveMail({ from: undefined });
  await expect(client.messages.reply(nobody.id, {})).rejects.toMatchObject({ status: 400 });
});

test("GET /v1/email/messages/{messageId}/attachments/{attachmentId} gives the bytes", async () => {
  const { account, client } = await startMail();
  const { id } = await account.receiveMail({ attachments: [{ name: "a.bin", content: "AAEC" }, { name: "empty" }] });
  const { attachments = [] } = await client.messages.get(id);
  expect(attachments).toEqual([
    { id: "a-1", name: "a.bin", size: 3 },
    { id: "a-2", name: "empty", size: 0 },
  ]);
  expect([...(await client.messages.attachment(id, "a-1")).content]).toEqual([0, 1, 2]);
  expect((await client.messages.attachment(id, "a-2")).content).toHaveLength(0);
  await expect(client.messages.attachment(id, "a-3")).rejects.toThrow(NotFound);
});

test("GET and POST /v1/email/folders, and GET /v1/email/folders/{folderId}", async () => {
  const { folders } = await startMail({ pageSize: 4 });
  const first = await all(folders.list());
  expect(first.map(({ sysLabel, name }) => sysLabel ?? name)).toEqual([
    "inbox",
    "sent",
    "draft",
    "junk",
    "trash",
    "Archive",
  ]);
  const clients = await folders.create({ name: "Clients" });
  const one = await folders.create({ name: "Engines", parentId: clients.id });
  expect(await folders.get(one.id)).toEqual({
    id: one.id,
    name: "Engines",
    fullName: "Clients/Engines",
    parentId: clients.id,
    isFolder: true,
    isLabel: false,
  });
  expect(await all(folders.list())).toHaveLength(8);
  await expect(folders.create({ name: "x", parentId: "none" })).rejects.toThrow(NotFound);
  await expect(folders.create({ name: "" })).rejects.toMatchObject({ status: 400 });
  await expect(folders.get("none")).rejects.toThrow(NotFound);
});

test("GET /v1/email/folders/{folderId}/messages has those of the folder, the newest first", async () => {
  const { account, client, folders } = await startMail({ pageSize: 2 });
  const { id: folderId } = await folders.create({ name: "Clients" });
  const inbox = [await account.receiveMail({ subject: "one" }), await account.receiveMail({ subject: "two" })];
  const moved = await account.receiveMail({ subject: "moved", folderId });
  await account.receiveMail({ subject: "three" });
  const idsIn = async (id: string, q?: string) =>
    (await all(folders.messages(id, { q }))).map(({ subject }) => subject);
  expect(await idsIn("f-inbox")).toEqual(["three", "two", "one"]);
  expect(await idsIn("f-inbox", "subject:two")).toEqual(["two"]);
  expect(await idsIn(folderId)).toEqual(["moved"]);
  expect(await client.messages.get(moved.id)).toMatchObject({ folderId });
  await client.messages.trash(inbox[0]?.id ?? "");
  await client.messages.trash(moved.id);
  expect(await idsIn("f-trash")).toEqual(["moved", "one"]);
  expect(await idsIn(folderId)).toEqual([]);
  await expect(all(folders.messages("none"))).rejects.toThrow(NotFound);
});

test("GET and PATCH /v1/email/folders/wellKnown: where sent and archived messages are", async () => {
  const { account, client, folders } = await startMail();
  expect(await folders.wellKnown()).toEqual({ archive: "f-archive", sent: "f-sent" });
  const { id } = await folders.create({ name: "Out" });
  expect(await folders.setWellKnown({ sent: id })).toEqual({ archive: "f-archive", sent: id });
  await client.messages.send({ subject: "Offer", to: [{ address: "ada@example.com" }] });
  await account.receiveMail({ subject: "Old", sysLabels: [] });
  expect(await all(folders.messages(id))).toMatchObject([{ subject: "Offer" }]);
  expect(await all(folders.messages("f-archive"))).toMatchObject([{ subject: "Old" }]);
  await expect(folders.setWellKnown({ archive: "none" })).rejects.toThrow(NotFound);
});

function bearer(token: string): RequestInit {
  return { headers: { Authorization: `Bearer ${token}` } };
}
