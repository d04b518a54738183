import { postgresInbox } from "hookline/postgres";
import { onTestFinished, test } from "vitest";
import { newDatabase } from "../../support/postgres.ts";
import { expectLinkedAfterKill } from "./otel/linked-after-kill.ts";

test("the link survives a killed process, on PostgreSQL", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  await expectLinkedAfterKill(connectionString, () => postgresInbox(connectionString));
});
