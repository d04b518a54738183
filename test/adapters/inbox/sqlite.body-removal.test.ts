import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createBodyRemoval } from "../../../adapters/inbox/sqlite/upkeep/body-removal.ts";

test("a pass looks at what was there when it began, and ends, whatever comes meanwhile", () => {
  const db = new DatabaseSync(":memory:");
  onTestFinished(() => db.close());
  db.exec("CREATE TABLE delivery (id INTEGER PRIMARY KEY, headers TEXT, body BLOB)");
  db.exec("CREATE TABLE unexpanded (delivery INTEGER PRIMARY KEY)");
  const come = (): unknown => db.prepare("INSERT INTO delivery (headers, body) VALUES ('[1]', x'01')").run();
  const left = (): number => Number(db.prepare("SELECT count(*) AS n FROM delivery WHERE body <> x''").get()?.["n"]);
  const none = (): Set<number> => new Set();
  const { removeBodies } = createBodyRemoval(db, { byRows: none, byRunning: none });
  for (let count = 0; count < 600; count += 1) come();

  let turn: "anew" | "on" = "anew";
  let steps = 0;
  for (let isMore = true; isMore && steps < 100; turn = "on") {
    isMore = removeBodies(turn);
    steps += 1;
    come();
  }
  expect([steps < 10, left()]).toEqual([true, steps]);
  expect(removeBodies("pass"), "the next one").toBe(true);
  expect(left()).toBe(0);
});
