import type { MailboxRecord } from "../../accounts/mailbox.ts";

/** Whether a message is found by a search. */
export type Matches = (message: MailboxRecord) => boolean;

/**
 * Reads a search: words, and `from:`, `to:`, `subject:`, `after:` and `before:` with a date, all of which must fit. A text with spaces is put
 * in quotes. What operators exist is not shown; another one is a word.
 *
 * @see protocol 4.1, `q`: "sender and date filters are possible"
 */
export function toMatches(query: string): Matches {
  const terms = [...query.matchAll(/(?:(\w+):)?(?:"([^"]*)"|(\S+))/g)].map(([whole, operator, quoted, plain]) => ({
    whole,
    operator,
    text: (quoted ?? plain ?? "").toLowerCase(),
  }));
  const all = terms.map(({ whole, operator, text }): Matches => {
    switch (operator) {
      case "from":
        return ({ from }) => textOf(from).includes(text);
      case "to":
        return ({ to }) => textOf(to).includes(text);
      case "subject":
        return ({ subject }) => textOf(subject).includes(text);
      case "after":
      case "before": {
        const at = Date.parse(text.replaceAll("/", "-"));
        if (Number.isNaN(at)) return () => false;
        return ({ createdTime }) =>
          operator === "after" ? Date.parse(createdTime) >= at : Date.parse(createdTime) < at;
      }
      default:
        return ({ subject, body }) =>
          textOf([subject, body]).includes(operator === undefined ? text : whole.toLowerCase());
    }
  });
  return (message) => all.every((matches) => matches(message));
}

/** Everything that can be read in a field, in lower case. */
function textOf(field: unknown): string {
  if (typeof field === "string") return field.toLowerCase();
  return typeof field === "object" && field !== null ? Object.values(field).map(textOf).join(" ") : "";
}
