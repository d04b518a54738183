import type { AfterHandlers } from "hookline/adapter";
import type { ProbedOptions } from "../suites/http/http-subject.ts";

/** The suite's options as one overload of a mount takes them: the receiver behind them fits all. */
export function toFetchOptions(options: ProbedOptions): Omit<ProbedOptions, "answer"> & AfterHandlers {
  return options as ProbedOptions & AfterHandlers;
}
