import type { Batcher, BatcherOptions } from "../inbox/batcher.ts";
import { withTimeout } from "../timeout.ts";

export interface OneByOneOptions<T, R> extends Pick<BatcherOptions<T, R>, "commit" | "failed"> {
  readonly deadline: NonNullable<BatcherOptions<T, R>["deadline"]>;
}

/**
 * A commit for each item, in place of a batcher where a request may not wait for what another one began: on Workers a request's I/O ends
 * with it, so that one commit which hangs would hold up all that come after it.
 */
export function createOneByOne<T, R>(options: OneByOneOptions<T, R>): Pick<Batcher<T, R>, "add" | "drained"> {
  const { commit, failed, deadline } = options;
  const running = new Set<Promise<R>>();

  async function run(item: T): Promise<R> {
    try {
      const [result] = await commit([item]);
      return result as R;
    } catch (error) {
      return failed(error);
    }
  }

  return {
    add(item) {
      const result = run(item);
      running.add(result);
      void result.then(() => running.delete(result));
      return withTimeout(deadline.ms, result, { clock: deadline.clock, late: deadline.late() });
    },
    async drained() {
      await Promise.all(running);
    },
  };
}
