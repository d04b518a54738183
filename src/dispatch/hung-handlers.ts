/** Handlers past their grace. So many of them may run on without a slot; the others keep theirs until there is a place for them. */
export interface HungHandlers {
  /**
   * One more.
   * @param free gives its slot to another; called once
   * @returns to be called when it has ended
   */
  add(free: () => void): () => void;
  /** All of them, with a slot or without. */
  readonly size: number;
  /** Some keep their slots: nothing more is to be claimed. */
  readonly jammed: boolean;
}

export function createHungHandlers(max: number): HungHandlers {
  /** Those that keep their slots, in order: each call gives one up. */
  const jammed = new Set<() => void>();
  let slotless = 0;

  return {
    add(free) {
      let freed = false;
      const giveUpSlot = (): void => {
        jammed.delete(giveUpSlot);
        freed = true;
        slotless += 1;
        free();
      };
      if (slotless < max) giveUpSlot();
      else jammed.add(giveUpSlot);
      return () => {
        if (freed) {
          slotless -= 1;
        } else {
          jammed.delete(giveUpSlot);
          free();
        }
        const [next] = jammed;
        if (slotless < max) next?.();
      };
    },
    get size() {
      return slotless + jammed.size;
    },
    get jammed() {
      return jammed.size > 0;
    },
  };
}
