import type { Unexpanded, WorkingInbox } from "hookline/adapter";
import { expect, test } from "vitest";
import { createBacklog } from "../../src/dispatch/expand.ts";
import { createHandlers } from "../../src/dispatch/handlers.ts";
import { toLogger } from "../../src/logger.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { idleWatch } from "../support/standstill-watch.ts";
import { bodyOf, change, makeDelivery } from "../support/make-delivery.ts";

/** A backlog of so many deliveries, and what is asked of its inbox. */
function behind(deliveries: number, payloads: readonly object[] = [change("m-1")]) {
  const delivery = makeDelivery(bodyOf({ payloads }));
  const waiting = Array.from({ length: deliveries }, (_, index): Unexpanded => ({
    id: `${index}`,
    delivery,
    cursor: 0,
  }));
  const asked: number[] = [];
  let [isParsing, turnsOfParsing] = [false, 0];

  function turn(): void {
    if (!isParsing) return;
    turnsOfParsing += 1;
    setImmediate(turn);
  }

  const inbox: Pick<WorkingInbox, "unexpanded" | "expand"> = {
    async unexpanded(max) {
      asked.push(max);
      isParsing = true;
      setImmediate(turn);
      return waiting.slice(0, max);
    },
    async expand(expansions) {
      isParsing = false;
      waiting.splice(0, expansions.filter(({ cursor }) => cursor === undefined).length);
      return expansions.map(() => ({ duplicates: [], conflicts: [] }));
    },
  };
  const handlers = createHandlers({ attempts: 1, retryForMs: 0, timeoutMs: 0 });
  const options = { inbox: inbox as WorkingInbox, expanded() {}, leftUnhandled() {} };
  const backlog = createBacklog(
    { handlers, expanding: () => undefined, watch: idleWatch(), faultLog: toLogger(false), clock: fakeClock() },
    options,
  );
  return { asked, expand: () => backlog.expand(() => false), turns: () => turnsOfParsing };
}

test("pages double while each is used up, to what one commit may carry, and begin small again", async () => {
  const { asked, expand } = behind(3_000);
  while (await expand());
  expect(asked).toEqual([100, 200, 400, 800, 1_000, 1_000, 100]);
});

test("a page of which only a part goes into one commit is read no longer the next time", async () => {
  const payloads = Array.from({ length: 50 }, (_, index) => change(`m-${index}`));
  const { asked, expand } = behind(60, payloads);
  while (await expand());
  expect(asked).toEqual([100, 100, 100, 100]);
});

test("the loop has a turn for each 64 KiB of bodies that are parsed", async () => {
  const { expand, turns } = behind(700, [{ ...change("m-1"), filler: "x".repeat(2_000) }]);
  for (let page = 0; page < 3; page += 1) await expand();
  expect(turns()).toBeGreaterThanOrEqual(Math.floor((700 * 2_000) / 65_536));
});
