import type { ErroredSubscription } from "../../inbox/port/subscriptions.ts";
import { countOf, toProblem, type Problem } from "./problem.ts";

/** More of them are told as a number: an outage of the service may strike every subscription at once. */
const MOST_TOLD = 10;

/** One problem for each subscription in trouble. */
export function subscriptionProblems(errored: readonly ErroredSubscription[]): readonly Problem[] {
  const problems = errored.slice(0, MOST_TOLD).map((one) => toProblem("subscription-errored", { got: tell(one) }));
  const more = errored.length - problems.length;
  if (more > 0)
    problems.push(toProblem("subscription-errored", { got: `So are ${countOf(more, "more subscription")}.` }));
  return problems;
}

function tell({ subscription, accountId, resource, source, error }: ErroredSubscription): string {
  const where = `${resource} of account ${accountId}${source === undefined ? "" : `, source ${source}`}`;
  return `Subscription ${subscription} (${where}): ${error === "" ? "no reason given" : error}`;
}
