import { postgresInbox } from "hookline/postgres";
import { onTestFinished, test } from "vitest";
import { checkPauseOfOther } from "../../support/pauses-of-processes.ts";
import { newDatabase } from "../../support/postgres.ts";

test("a pause of another process holds here, also after it was killed, and after a restart", async () => {
  const database = await newDatabase();
  onTestFinished(() => database.drop());
  await checkPauseOfOther(database.connectionString, () => postgresInbox(database.connectionString));
});
