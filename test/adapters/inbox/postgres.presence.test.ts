import { expect, onTestFinished, test } from "vitest";
import { createPresence } from "../../../adapters/inbox/postgres/connection/presence.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";

async function processes() {
  const { connectionString, drop } = await newDatabase();
  const made = [1, 2].map(() => createPresence({ connectionString }, () => `"it's"`));
  onTestFinished(async () => {
    for (const one of made) await one.drop();
    await drop();
  });
  const [here, there] = made;
  if (here === undefined || there === undefined) throw new Error();
  return { here, there };
}

test("a worker is there as long as it holds on, and gone once it let go", async () => {
  const { here, there } = await processes();
  expect(await there.isGone(1)).toBe(false);
  expect([await here.hold(1), await here.hold(1), await there.hold(2)]).toEqual([true, true, true]);
  expect([await there.isGone(1), await there.isGone(3)]).toEqual([false, true]);
  await here.drop();
  await eventually(async () => expect(await there.isGone(1)).toBe(true));
  expect(await here.isGone(2)).toBe(false);
});

test("a worker that lets go while it still connects does not hold on", async () => {
  const { here, there } = await processes();
  expect(await there.hold(2)).toBe(true);
  const holding = here.hold(1);
  await here.drop();
  expect(await holding).toBe(false);
  expect(await there.isGone(1)).toBe(true);
  expect(await here.hold(1)).toBe(true);
  expect(await there.isGone(1)).toBe(false);
});
