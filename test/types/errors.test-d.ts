// What handlers throw, and how errors are told apart.
import { GiveUp, HooklineError, isHooklineError, RetryLater } from "hookline";
import { SignatureError } from "hookline/signature";
import type { Equal, Expect, Fits } from "./support.ts";

declare const response: Response;
declare const chance: boolean;

// Every form of a time, with the error behind it or without.
export const verdicts: readonly HooklineError[] = [
  new RetryLater({ afterMs: 500 }),
  new RetryLater({ afterSeconds: Number(response.headers.get("retry-after")) }),
  new RetryLater({ at: new Date() }),
  new RetryLater(chance ? { afterMs: 500 } : { at: new Date() }, { cause: response }),
  new GiveUp("the account was deleted"),
  new GiveUp("the account was deleted", { cause: new Error("404") }),
];
export type Kinds = [
  Expect<Fits<GiveUp, HooklineError>>,
  Expect<Fits<RetryLater, HooklineError>>,
  Expect<Fits<SignatureError, HooklineError>>,
  Expect<Fits<HooklineError, Error>>,
  Expect<Equal<HooklineError["code"], string>>,
  Expect<Equal<HooklineError["fix"], string | undefined>>,
];

export function describe(error: unknown): string {
  if (isHooklineError(error, "secret-missing"))
    return (error satisfies HooklineError) && `${error.code}: ${error.fix ?? ""}`;
  if (isHooklineError(error)) return error.fix?.toUpperCase() ?? error.message;
  // @ts-expect-error -- what is no error of ours has no code
  return error.code;
}
export function ofClass(error: unknown): string | undefined {
  if (error instanceof GiveUp || error instanceof RetryLater) return error.code;
  return error instanceof SignatureError ? error.fix : undefined;
}

// Users' own kinds, with names of their own.
export class AccountGone extends GiveUp {
  readonly account: number;
  constructor(account: number) {
    super(`account ${account} is gone`);
    this.name = "AccountGone";
    this.account = account;
  }
}
export class RateLimited extends RetryLater {
  override name = "RateLimited";
}
export const limited = (...given: ConstructorParameters<typeof RetryLater>): RateLimited => new RateLimited(...given);

// @ts-expect-error -- seconds or milliseconds?
export const bare = new RetryLater(30);
// @ts-expect-error -- a date stands under `at`
export const dated = new RetryLater(new Date());
// @ts-expect-error -- a text with a unit is not read
export const worded = new RetryLater("30s");
// @ts-expect-error -- no time at all
export const timeless = new RetryLater();
// @ts-expect-error -- an object without a time
export const empty = new RetryLater({});
// @ts-expect-error -- a name that does not exist
export const misnamed = new RetryLater({ seconds: 30 });
// @ts-expect-error -- `at` is a Date: a number could be anything
export const counted = new RetryLater({ at: Date.now() });
// @ts-expect-error -- a header's text is no number
export const unread = new RetryLater({ afterSeconds: response.headers.get("retry-after") });
// @ts-expect-error -- giving up wants its reason
export const mute = new GiveUp();
// @ts-expect-error -- the reason is a text, the error goes into `cause`
export const caught = new GiveUp(new Error("404"));
// @ts-expect-error -- a code is a text
export const coded = isHooklineError(undefined, 401);
