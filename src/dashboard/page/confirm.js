import { byId, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { postChange, RefusedError } from "./api.js";
import { toWords } from "./parts.js";

/** @typedef {{ verb: "replay" | "drop" | "lift" | "clear-gaps", ids?: string[], filter?: Record<string, string> }} Wanted */

/** @type {Record<Wanted["verb"], { does: string, noun: string, past: string, about: string }>} */
const VERBS = {
  replay: {
    does: "Replay",
    noun: "job",
    past: "Replayed",
    about: "Each becomes a new job at the end of its lane, and its handler runs again.",
  },
  drop: {
    does: "Drop",
    noun: "job",
    past: "Dropped",
    about: "They are deleted, and never handled. This cannot be undone.",
  },
  lift: {
    does: "Lift",
    noun: "tombstone",
    past: "Lifted",
    about: "Deliveries of the subscription are stored and handled again, if the service still has it.",
  },
  "clear-gaps": {
    does: "Clear",
    noun: "gap",
    past: "Cleared",
    about: "You have compared your copy with the service, or nothing of it matters.",
  },
};

/**
 * Counts what a change would do, asks, and does it. What grew meanwhile is counted and asked for again.
 *
 * @param {{ say: (kind: "notice" | "failure", text: string) => void, fail: (error: unknown) => void, refresh: () => void }} page
 */
export function createConfirm({ say, fail, refresh }) {
  const dialog = byId("confirm");
  const rate = byId("confirm-rate");
  /** @type {Wanted & { count: number } | undefined} */
  let wanted;

  byId("confirm-cancel").addEventListener("click", () => dialog.close());
  byId("confirm-form").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    void run();
  });

  /** @param {string} note */
  function show(note) {
    if (wanted === undefined) return;
    const { verb, count, filter, ids } = wanted;
    const { does, noun, about } = VERBS[verb];
    setText(byId("confirm-title"), `${does} ${toCount(count, noun)}?`);
    setText(
      byId("confirm-filter"),
      ids === undefined ? toWords(filter ?? {}) || "all dead jobs" : `selected: ${ids.join(", ")}`,
    );
    setText(byId("confirm-about"), about);
    setText(byId("confirm-note"), note);
    byId("confirm-rate-label").hidden = verb !== "replay";
    byId("confirm-do").disabled = count === 0;
    setText(byId("confirm-do"), `${does} ${toCount(count, noun)}`);
    byId("confirm-do").className = verb === "drop" ? "danger" : "main";
    if (!dialog.open) dialog.showModal();
  }

  async function run() {
    if (wanted === undefined) return;
    const { verb, count, ids, filter } = wanted;
    const { past, noun } = VERBS[verb];
    try {
      const perSecond = verb === "replay" ? { perSecond: Number(rate.value) } : {};
      const { change } = await postChange(verb, {
        ...(ids === undefined ? { filter: filter ?? {} } : { ids }),
        count,
        ...perSecond,
      });
      dialog.close();
      if (change.failed !== undefined) say("failure", `It failed: ${change.failed}. The log has the cause.`);
      else if (change.endedAt === undefined)
        say("notice", `Begun with ${toCount(count, noun)}: Now shows how far it is.`);
      else say("notice", `${past} ${toCount(change.changed, noun)}.`);
    } catch (error) {
      if (error instanceof RefusedError && error.status === 409) {
        wanted.count = error.body["count"];
        return show(`There were ${count.toLocaleString("en")} when you looked. Confirm again.`);
      }
      dialog.close();
      fail(error);
    }
    return refresh();
  }

  return {
    /** @param {Wanted} asked */
    async ask(asked) {
      try {
        const { verb, ids, filter } = asked;
        const { count } = await postChange(verb, ids === undefined ? { filter: filter ?? {} } : { ids });
        wanted = { ...asked, count };
        show("");
      } catch (error) {
        fail(error);
      }
    },
  };
}
