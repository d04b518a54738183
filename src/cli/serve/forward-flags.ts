import type { lookup } from "node:dns";
import { isIP } from "node:net";
import type { EventName } from "../../index.ts";
import type { ValuesOf } from "../arguments.ts";
import { CommandError, EXIT, type Io } from "../command.ts";
import { APP_URL, nonEmpty, wholeNumber, type ValueType } from "../flags.ts";
import { isLinkLocal } from "./refused-addresses.ts";

/** An app that events are forwarded to. */
export interface ForwardTarget {
  /** The consumer that its jobs are stored under. */
  readonly name: string;
  readonly url: string;
}

/** Where and how events are forwarded. */
export interface Forwarding {
  readonly targets: readonly ForwardTarget[];
  /** Each makes a signature. */
  readonly secrets: readonly Uint8Array[];
  /** Other events wait in the inbox. @default all */
  readonly only: readonly EventName[] | undefined;
  readonly timeoutMs: number;
  /** Requests at once, over as many connections to each app. */
  readonly concurrency: number;
  readonly allowLinkLocal: boolean;
  /** @default the machine's */
  readonly lookup?: typeof lookup | undefined;
  /** From 0 to below 1. @default Math.random */
  readonly random?: (() => number) | undefined;
}

const TARGET: ValueType<ForwardTarget> = {
  expects:
    "a URL with http:// or https:// and without a password, such as http://127.0.0.1:8000/events, or with a name before it: crm=http://...",
  read(text) {
    const [, name = "default", rest = text] = /^([A-Za-z][\w-]{0,63})=(.*)$/s.exec(text) ?? [];
    const url = APP_URL.read(rest);
    return url === undefined ? undefined : { name, url };
  },
};

const NAMES: ValueType<readonly string[]> = {
  expects: "names of events, such as email,calendarEvent.created",
  read: (text) => (/^[\w.*]+(?:,[\w.*]+)*$/.test(text) ? text.split(",") : undefined),
};

/** Flags of `serve` that stand on `--forward-to`. */
export const FORWARD_FLAGS = {
  "forward-to": {
    ...TARGET,
    value: "<url>",
    many: true,
    about:
      "Hand each event to this app by POST instead of printing it. Give name=url to name the app, and the flag again for a further one: each has its own jobs and retries.",
  },
  "forward-secret": {
    ...nonEmpty("whsec_ and base64"),
    value: "<secret>",
    about: "What requests to the apps are signed with. Better in FORWARD_SECRET: flags are in the list of processes.",
  },
  "forward-timeout": {
    ...wholeNumber(1, 3_600),
    value: "<seconds>",
    about: "How long an app may take for one event. Default: 30.",
  },
  concurrency: {
    ...wholeNumber(1, 1_000),
    value: "<n>",
    about: "Requests to the apps at once, and the most connections to each. Default: 10.",
  },
  only: {
    ...NAMES,
    value: "<names>",
    about:
      "Hand over only these events or families. Other families wait in the inbox for 7 days; other changes of a family of which one change is named are skipped. Default: all.",
  },
  "allow-link-local": {
    about: "Forward to 169.254.0.0/16 too, where clouds give credentials away.",
  },
} as const;

type Values = ValuesOf<typeof FORWARD_FLAGS> & { readonly inbox: string | undefined };

/**
 * Undefined: events are printed.
 *
 * @throws CommandError for flags that do not fit together, and a secret that no library could use
 */
export function toForwarding(values: Values, env: Io["env"]): Forwarding | undefined {
  const { "forward-to": targets, inbox } = values;
  if (targets.length === 0) {
    const needless = (Object.keys(FORWARD_FLAGS) as (keyof typeof FORWARD_FLAGS)[]).find(
      (name) => name !== "forward-to" && values[name] !== undefined && values[name] !== false,
    );
    if (needless !== undefined) throw wrong(`Got --${needless} without --forward-to. Give that too.`);
    return undefined;
  }
  if (inbox === undefined)
    throw wrong("Got --forward-to without --inbox: events that wait for an app would be lost with this process.");
  const names = targets.map(({ name }) => name);
  const doubled = names.find((name, index) => names.indexOf(name) !== index);
  if (doubled !== undefined)
    throw wrong(`--forward-to got the name "${doubled}" twice. Name each app: --forward-to crm=http://...`);
  const allowLinkLocal = values["allow-link-local"];
  for (const { url } of targets) if (!allowLinkLocal) assertAddress(new URL(url));
  return {
    targets,
    secrets: toSecrets(values["forward-secret"] ?? env["FORWARD_SECRET"] ?? ""),
    only: values.only as readonly EventName[] | undefined, // `receiver.on` refuses unknown ones
    timeoutMs: (values["forward-timeout"] ?? 30) * 1_000,
    concurrency: values.concurrency ?? 10,
    allowLinkLocal,
  };
}

/** A name is looked up at each connection; an address never is. `URL` knows all its spellings, such as 0xA9FEA9FE. */
function assertAddress({ hostname }: URL): void {
  const address = hostname.replaceAll(/[[\]]/g, "");
  if (isIP(address) === 0 || !isLinkLocal(address)) return;
  throw wrong(
    `--forward-to got ${address}, where clouds give credentials away. Pass --allow-link-local if an app is really there.`,
  );
}

const PREFIX = "whsec_";
/** Bytes of a secret. @see https://github.com/standard-webhooks/standard-webhooks */
const [LEAST, MOST] = [24, 64];

/** Never says the secret. */
function toSecrets(text: string): readonly Uint8Array[] {
  const secrets = text.split(/\s+/).filter((one) => one !== "");
  if (secrets.length === 0) throw wrong(`FORWARD_SECRET is not set. ${HOW}`);
  return secrets.map((secret) => {
    if (!secret.startsWith(PREFIX)) throw wrong(`A secret in FORWARD_SECRET does not begin with ${PREFIX}. ${HOW}`);
    const base64 = secret.slice(PREFIX.length);
    const bytes = Buffer.from(base64, "base64");
    // Libraries differ in what else they decode, and to which bytes.
    if (bytes.toString("base64") !== base64)
      throw wrong(`A secret in FORWARD_SECRET is no base64 with its padding. ${HOW}`);
    if (bytes.length < LEAST || bytes.length > MOST)
      throw wrong(`A secret in FORWARD_SECRET has ${bytes.length} bytes, expected ${LEAST} to ${MOST}. ${HOW}`);
    return bytes;
  });
}

const HOW = 'Make one with: echo "whsec_$(openssl rand -base64 32)"';

function wrong(message: string): CommandError {
  return new CommandError(EXIT.usage, message);
}
