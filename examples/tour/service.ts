import { sign } from "hookline/signature";
import type { Delivery } from "./deliveries.ts";

/** Plays the service at the app's URL. */
export interface Service {
  /** Sends the verification handshake. */
  verify(token: string): Promise<{ readonly status: number; readonly same: boolean }>;
  /** Signs and sends. @returns undefined if the subscription is deleted, so nothing was sent */
  deliver(delivery: Delivery): Promise<number | undefined>;
  /** Sends a forged request: the signature of one delivery with the body of another. */
  forge(delivery: Delivery): Promise<number>;
  /** Number of tokens that came back unchanged. */
  readonly tokensBack: number;
  /** Answers by status. */
  readonly answers: ReadonlyMap<number, number>;
  /** Subscriptions that a 422 has deleted. */
  readonly deleted: ReadonlySet<number>;
}

export function createService(url: string, secret: string): Service {
  const answers = new Map<number, number>();
  const deleted = new Set<number>();
  let tokensBack = 0;

  async function post(target: string, body: string, signed = body): Promise<Response> {
    const headers = { "content-type": "application/json", ...sign(signed, { secret }) };
    const response = await fetch(target, { method: "POST", headers, body });
    answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
    return response;
  }

  return {
    answers,
    deleted,
    get tokensBack() {
      return tokensBack;
    },
    async verify(token) {
      const response = await post(`${url}?validationToken=${encodeURIComponent(token)}`, "");
      const same = response.status === 200 && (await response.text()) === token;
      if (same) tokensBack += 1;
      return { status: response.status, same };
    },
    async deliver(delivery) {
      if (deleted.has(delivery.subscription)) return undefined;
      const { status } = await post(url, JSON.stringify(delivery));
      if (status === 422) deleted.add(delivery.subscription);
      return status;
    },
    async forge(delivery) {
      const { status } = await post(url, JSON.stringify({ ...delivery, accountId: 1 }), JSON.stringify(delivery));
      return status;
    },
  };
}
