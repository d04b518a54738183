import { post } from "./api.js";
import { byId, setText } from "../../page/dom.js";
import { toFullTime, toSpan } from "../../page/format.js";

const WHY_DISABLED =
  'The clock is no virtual one, so it cannot be advanced. Start the emulator with --clock virtual, or createEmulator({ clock: "virtual" }).';

/**
 * The emulator's time, and what lets it pass.
 *
 * @param {{ act: (run: () => Promise<string>) => Promise<void> }} page
 */
export function createClockPanel({ act }) {
  const now = byId("now");
  const hint = byId("clock-hint");
  let isAdvancing = false;

  /** @param {number} ms */
  async function advance(ms) {
    if (isAdvancing) return;
    isAdvancing = true;
    setText(hint, "Advancing: what is due is sent, and the answers are waited for.");
    await act(async () => {
      await post("/emulator/clock/advance", { ms });
      return `${toSpan(ms)} passed.`;
    });
    isAdvancing = false;
    setText(hint, "");
  }

  for (const button of byId("advance").querySelectorAll("[data-ms]"))
    button.addEventListener("click", () => void advance(Number(button.dataset.ms)));
  byId("advance").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    void advance(byId("advance-seconds").valueAsNumber * 1_000);
  });

  return {
    /** @param {import("./api.js").State} state */
    show({ now: time, isVirtual }) {
      now.dateTime = time;
      setText(now, `${toFullTime(time)} UTC`);
      setText(byId("clock-kind"), isVirtual ? "virtual" : "real");
      byId("advance-controls").disabled = !isVirtual;
      if (!isAdvancing) setText(hint, isVirtual ? "" : WHY_DISABLED);
    },
  };
}
