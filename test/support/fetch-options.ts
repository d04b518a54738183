import type { AfterHandlers } from "hookline/adapter";
import type { ProbedOptions } from "../suites/http/http-subject.ts";

/** The suite's options for one overload of a mount; the suite's receiver fits every overload. */
export function toFetchOptions(options: ProbedOptions): Omit<ProbedOptions, "answer"> & AfterHandlers {
  return options as ProbedOptions & AfterHandlers;
}
