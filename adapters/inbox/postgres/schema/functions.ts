import { bodyFunctionsOf } from "./body-functions.ts";
import { handlerFunctionsOf } from "./handler-functions.ts";
import { removalFunctionsOf } from "./removal-functions.ts";
import { storeFunctionsOf } from "./store-functions.ts";
import { takeoverFunctionsOf } from "./takeover-functions.ts";
import { dayPartitionFunctionsOf } from "./day-partition-functions.ts";
import { retentionFunctionsOf } from "./retention-functions.ts";
import { stepFunctionsOf } from "./step-functions.ts";

/**
 * What runs on the server. A function is one statement for its caller, so that it needs one round trip and fits behind a pooler of
 * transactions; inside it each statement sees what was committed before it.
 * @param ident the quoted name of the schema
 */
export function functionsOf(ident: string): string {
  return [
    handlerFunctionsOf,
    storeFunctionsOf,
    stepFunctionsOf,
    takeoverFunctionsOf,
    dayPartitionFunctionsOf,
    retentionFunctionsOf,
    bodyFunctionsOf,
    removalFunctionsOf,
  ]
    .map((body) => body(ident))
    .join("\n");
}
