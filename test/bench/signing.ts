import { createHmac } from "node:crypto";

/** How a contender's requests are signed. */
export type SigningName = "service" | "github" | "slack" | "stripe" | "standard";

export interface Signing {
  /** Where its receiver listens. */
  readonly path: string;
  /** The body of one record, in JSON. */
  readonly body: (record: string) => string;
  /** @param timestamp seconds since the epoch */
  readonly headers: (body: string, timestamp: string, secret: string) => Record<string, string>;
}

/** The secret of all contenders. It is valid base64, which standardwebhooks requires. */
export const SECRET = "d2hzZWMtb2YtdGhlLWJlbmNo";

/** Every body has this length. */
export const BODY_BYTES = 300;

/** Made by Node's own HMAC without our code, in the format of each service. */
export const SIGNINGS: Readonly<Record<SigningName, Signing>> = {
  service: {
    path: "/webhooks",
    body: delivery,
    headers: (body, timestamp, secret) => ({
      "X-Aurinko-Request-Timestamp": timestamp,
      "X-Aurinko-Signature": hmac(secret, `v0:${timestamp}:${body}`).digest("hex"),
    }),
  },
  github: {
    path: "/api/github/webhooks",
    body: delivery,
    headers: (body, _timestamp, secret) => ({
      "X-GitHub-Event": "push",
      "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "X-Hub-Signature-256": `sha256=${hmac(secret, body).digest("hex")}`,
    }),
  },
  slack: {
    path: "/slack/events",
    body: (record) => {
      const event = { type: "message", channel: "C024BE91L", user: "U2147483697", ts: "1355517523.000005" };
      const rest = { team_id: "T0001", api_app_id: "A0001", type: "event_callback", event_id: record };
      return padded((text) => ({ ...rest, event: { ...event, text } }));
    },
    headers: (body, timestamp, secret) => ({
      "X-Slack-Request-Timestamp": timestamp,
      "X-Slack-Signature": `v0=${hmac(secret, `v0:${timestamp}:${body}`).digest("hex")}`,
    }),
  },
  stripe: {
    path: "/webhooks",
    body: delivery,
    headers: (body, timestamp, secret) => ({
      "Stripe-Signature": `t=${timestamp},v1=${hmac(secret, `${timestamp}.${body}`).digest("hex")}`,
    }),
  },
  standard: {
    path: "/webhooks",
    body: delivery,
    headers: (body, timestamp, secret) => ({
      "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "Webhook-Timestamp": timestamp,
      "Webhook-Signature": `v1,${hmac(Buffer.from(secret, "base64"), `msg_p5jXN8AQM9LWM0D4loKWxJek.${timestamp}.${body}`).digest("base64")}`,
    }),
  },
};

/** One changed e-mail. */
function delivery(record: string): string {
  const envelope = { subscription: 1001, accountId: 2002, resource: "/email/messages" };
  return padded((threadId) => ({
    ...envelope,
    payloads: [{ id: record, changeType: "updated", attributes: { threadId } }],
  }));
}

/** Padded to {@link BODY_BYTES}, as with the long ids of mail servers. */
function padded(make: (fill: string) => object): string {
  return JSON.stringify(make("x".repeat(BODY_BYTES - JSON.stringify(make("")).length)));
}

function hmac(secret: string | Buffer, text: string) {
  return createHmac("sha256", secret).update(text);
}
