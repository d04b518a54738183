import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { onDisk } from "./on-disk.ts";

test.each([undefined, "", "crm"])("a hit of a tombstone is written for who opens the file next: %j", async (source) => {
  const { inbox, file, clock } = await onDisk();
  await inbox.tombstones.put({ subscription: 5, source, reason: "gone" });
  clock.jump(2 * 60 * 60 * 1_000);
  inbox.tombstones.find(5, source ?? "crm");
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  const hit = db.prepare("SELECT last_hit FROM tombstone");
  await eventually(() => expect(hit.get()).toEqual({ last_hit: clock.now() }));
});
