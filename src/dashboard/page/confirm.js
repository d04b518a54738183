import { byId, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { postChange, RefusedError } from "./api.js";
import { toWords } from "./parts.js";

/** @typedef {{ verb: "replay" | "drop" | "pause" | "resume" | "lift" | "clear-gaps", ids?: string[], filter?: Record<string, string> }} Wanted */

/** @type {Record<Wanted["verb"], readonly [does: string, past: string, noun: string, about: string]>} */
const VERBS = {
  replay: ["Replay", "Replayed", "job", "Each becomes a new job at the end of its lane, and its handler runs again."],
  drop: ["Drop", "Dropped", "job", "They are deleted, and never handled. This cannot be undone."],
  pause: ["Make", "Made", "pause", "Deliveries are stored as ever, and no further handler starts. What runs ends."],
  resume: ["End", "Ended", "pause", "What waits starts within 2 seconds, in its order."],
  lift: [
    "Lift",
    "Lifted",
    "tombstone",
    "Deliveries of the subscription are stored and handled again, if the service still has it.",
  ],
  "clear-gaps": ["Clear", "Cleared", "gap", "You have compared your copy with the service, or nothing of it matters."],
};

/**
 * Counts what a change would do, asks, and does it. What grew meanwhile is counted and asked for again.
 *
 * @param {{ say: (kind: "notice" | "failure", text: string) => void, fail: (error: unknown) => void, refresh: () => void }} page
 */
export function createConfirm({ say, fail, refresh }) {
  const dialog = byId("confirm");
  const rate = byId("confirm-rate");
  /** @type {Wanted} */
  let wanted = { verb: "drop" };
  let count = 0;

  byId("confirm-cancel").addEventListener("click", () => dialog.close());
  byId("confirm-form").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    void run();
  });

  /**
   * @param {number} counted
   * @param {string} note
   */
  function show(counted, note) {
    count = counted;
    const { verb, filter = {}, ids } = wanted;
    const [does, , noun, about] = VERBS[verb];
    const what = `${does} ${toCount(count, noun)}`;
    setText(byId("confirm-title"), `${what}?`);
    setText(byId("confirm-filter"), ids ? `selected: ${ids.join(", ")}` : toWords(filter) || "all dead jobs");
    setText(byId("confirm-about"), about);
    setText(byId("confirm-note"), note);
    byId("confirm-rate-label").hidden = verb !== "replay";
    byId("confirm-do").disabled = count === 0;
    setText(byId("confirm-do"), what);
    byId("confirm-do").className = verb === "drop" ? "danger" : "main";
    if (!dialog.open) dialog.showModal();
  }

  async function run() {
    const { verb, ...what } = wanted;
    const [, past, noun] = VERBS[verb];
    try {
      const perSecond = verb === "replay" ? { perSecond: Number(rate.value) } : {};
      const { change } = await postChange(verb, { ...what, count, ...perSecond });
      dialog.close();
      if (change.failed !== undefined) say("failure", `It failed: ${change.failed}. The log has the cause.`);
      else if (change.endedAt === undefined)
        say("notice", `Begun with ${toCount(count, noun)}: Now shows how far it is.`);
      else say("notice", `${past} ${toCount(change.changed, noun)}.`);
    } catch (error) {
      if (error instanceof RefusedError && error.status === 409)
        return show(error.body["count"], `There were ${count.toLocaleString("en")} when you looked. Confirm again.`);
      dialog.close();
      fail(error);
    }
    return refresh();
  }

  return {
    /** @param {Wanted} asked */
    async ask(asked) {
      try {
        const { verb, ...what } = asked;
        const counted = await postChange(verb, what);
        wanted = asked;
        show(counted["count"], "");
      } catch (error) {
        fail(error);
      }
    },
  };
}
