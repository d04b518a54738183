import { changeResource } from "./change.ts";
import { pathMatcher } from "./path.ts";

/** Messages of a mailbox. @see protocol 6.1 */
export const email = changeResource("email", pathMatcher("/email/messages"));
