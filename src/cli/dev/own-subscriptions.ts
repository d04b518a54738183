import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client, Subscription } from "../../client.ts";
import { createMissing, deleteIfThere, listAll } from "../../subscriptions/create-missing.ts";
import { urlKey } from "../../subscriptions/same-subscription.ts";
import { CommandError, EXIT } from "../command.ts";
import { askRun, NO_ANSWER } from "./follow-tunnel.ts";

/** What one run has at the service. Neither a token nor a secret. */
interface RunState {
  readonly run: string;
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  /** The base URL of the service's API; empty for the service's own. */
  readonly api: string;
  readonly account: number;
  readonly made: readonly Pick<Subscription, "id" | "notificationUrl">[];
  /** Where some are being created: a run that was killed meanwhile knows no ids of them. There were none before. */
  readonly making?: string | undefined;
}

interface OwnSubscriptionsOptions {
  readonly client: Client;
  readonly resources: readonly string[];
  readonly run: Pick<RunState, "run" | "port" | "api" | "account">;
  /** Where `dev.json` is, by which the next run finds what a killed one left. */
  readonly folder: string;
}

/** An account with more is likely one of users. */
const MOST_OTHERS = 20;

/** The subscriptions that a run makes, moves to another URL, and removes. */
export function createOwnSubscriptions({ client, resources, run, folder }: OwnSubscriptionsOptions) {
  let made: RunState["made"] = [];
  let making: string | undefined;

  const save = (): void => writeState(folder, { ...run, made, making });

  async function noteMade(): Promise<void> {
    const url = making;
    if (url === undefined) return;
    made = [...made.filter((one) => !isAt(one, url)), ...(await listAll(client)).filter((one) => isAt(one, url))];
    making = undefined;
    save();
  }

  /** Whatever fails: the others are removed. @returns how many @throws the first failure */
  async function remove(these: RunState["made"]): Promise<number> {
    const results = await Promise.allSettled(these.map(({ id }) => deleteIfThere(client, id)));
    made = made.filter((one) => results[these.indexOf(one)]?.status !== "fulfilled");
    save();
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return results.length;
  }

  return {
    /**
     * Removes what runs that were killed have left of this account.
     *
     * @returns how many
     * @throws CommandError for an account with too many others
     */
    async begin({ yes }: { readonly yes: boolean }): Promise<number> {
      const listed = await listAll(client);
      let removed = 0;
      for (const state of readStates(folder)) {
        if (state.api !== run.api || state.account !== run.account || (await isAlive(state))) continue;
        const left = listed.filter((one) => isOf(state, one));
        for (const { id } of left) await deleteIfThere(client, id);
        removed += left.length;
        writeState(folder, { ...state, made: [], making: undefined });
      }
      const others = listed.length - removed;
      if (others <= MOST_OTHERS || yes) return removed;
      throw new CommandError(
        EXIT.usage,
        `The account has ${others} subscriptions, so it may be one of your users. Take another token, or confirm with --yes.`,
      );
    },
    /**
     * Makes the subscriptions at a URL, then removes those of the URL before.
     *
     * @returns the ids
     * @throws CommandError where the URL is in use
     */
    async moveTo(url: string): Promise<readonly number[]> {
      const listed = await listAll(client);
      const other = listed.find((one) => isAt(one, url) && !made.some(({ id }) => id === one.id));
      if (other !== undefined)
        throw new CommandError(
          EXIT.failed,
          `The account has subscription ${other.id} at ${url}, which this command did not make. Take another URL, or delete it: hookline subscriptions delete ${other.id}`,
        );
      making = url;
      save();
      const desired = resources.map((resource) => ({ accountId: run.account, resource, notificationUrl: url }));
      const creating = createMissing(client, desired, undefined);
      // Some may be there, whatever failed.
      await creating.catch(() => {});
      await noteMade();
      await creating;
      await remove(made.filter((one) => !isAt(one, url)));
      return made.map(({ id }) => id);
    },
    /** Removes all. @returns how many @throws the first failure; what is left is in the file */
    async end(): Promise<number> {
      await noteMade();
      return remove(made);
    },
  };
}

function isAt({ notificationUrl }: Pick<Subscription, "notificationUrl">, url: string): boolean {
  return urlKey(notificationUrl) === urlKey(url);
}

/** The id alone is not enough: an emulator that was started anew counts from the beginning. */
function isOf({ made, making }: RunState, subscription: Subscription): boolean {
  const isMade = made.some(({ id, notificationUrl }) => id === subscription.id && isAt(subscription, notificationUrl));
  return isMade || (making !== undefined && isAt(subscription, making));
}

/** A process that was stopped, such as by Ctrl-Z, listens and does not answer. */
async function isAlive({ run, port }: RunState): Promise<boolean> {
  const got = await askRun(`http://127.0.0.1:${port}`, run);
  return got === undefined || got === NO_ANSWER;
}

function readStates(folder: string): readonly RunState[] {
  const file = join(folder, "dev.json");
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly runs: readonly RunState[] }).runs;
}

/** Replaces the state of one run. Without a pause in between, so that two runs do not overwrite each other. */
function writeState(folder: string, state: RunState): void {
  const others = readStates(folder).filter(({ run }) => run !== state.run);
  const runs = state.made.length === 0 && state.making === undefined ? others : [...others, state];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, ".gitignore"), "*\n");
  const file = join(folder, "dev.json");
  writeFileSync(`${file}.new`, `${JSON.stringify({ runs }, undefined, 2)}\n`);
  renameSync(`${file}.new`, file);
}
