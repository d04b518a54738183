import { changeResource } from "./change.ts";
import { pathMatcher } from "./path.ts";

/** Entries of an address book. @see protocol 6.1 */
export const contact = changeResource("contact", pathMatcher("/contacts"));
