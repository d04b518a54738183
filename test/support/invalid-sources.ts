/** What a mount's `source` may give by mistake: how the log calls it, and the function that gives it. */
export const invalidSources: readonly (readonly [string, () => unknown])[] = [
  ["a promise", async () => "crm"],
  ["a promise", () => Promise.reject(new Error("no such application"))],
  ["a list", () => ["crm", "eu"]],
  ["42", () => 42],
  ["null", () => null],
  ["an object", () => ({ toString: () => "crm" })],
  ["a function", () => () => "crm"],
];
