/** Wrong values of a mount's `source`: their name in the log, and a function that returns them. */
export const invalidSources: readonly (readonly [string, () => unknown])[] = [
  ["a promise", async () => "crm"],
  ["a promise", () => Promise.reject(new Error("no such application"))],
  ["NUL or half of a surrogate pair", () => "crm\0eu"],
  ["NUL or half of a surrogate pair", () => "crm \ud83d"],
  ["a list", () => ["crm", "eu"]],
  ["42", () => 42],
  ["null", () => null],
  ["an object", () => ({ toString: () => "crm" })],
  ["a function", () => () => "crm"],
];
