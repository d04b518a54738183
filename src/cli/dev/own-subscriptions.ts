import type { Client, Subscription } from "../../client.ts";
import { isHooklineError } from "../../index.ts";
import { planSubscriptions } from "../../subscriptions.ts";
import { CommandError, EXIT } from "../command.ts";
import { askRun, NO_ANSWER } from "./follow-tunnel.ts";
import type { openStateFile, RunState } from "./state-file.ts";

interface OwnSubscriptionsOptions {
  readonly client: Client;
  readonly resources: readonly string[];
  readonly run: Pick<RunState, "run" | "port" | "api" | "account">;
  /** Undefined where the service ends with this process. */
  readonly file: ReturnType<typeof openStateFile> | undefined;
}

/** An account with more is likely one of users. */
const MOST_OTHERS = 20;

/** The subscriptions that a run makes, moves to another URL, and removes. */
export function createOwnSubscriptions({ client, resources, run, file }: OwnSubscriptionsOptions) {
  let made: RunState["made"] = [];
  let making: string | undefined;

  function save(): void {
    if (made.length === 0 && making === undefined) file?.remove(run.run);
    else file?.put({ ...run, made, making });
  }

  function desiredAt(notificationUrl: string) {
    return resources.map((resource) => ({ accountId: run.account, resource, notificationUrl }));
  }

  /** All of the account that lead to a URL. */
  async function listAt(url: string): Promise<RunState["made"]> {
    const found = await planSubscriptions(desiredAt(url), { client: () => client, prune: true });
    for (const { error } of found.failed) throw error;
    return [...found.keep, ...found.remove].map(({ id, notificationUrl }) => ({ id, notificationUrl }));
  }

  async function noteMade(): Promise<void> {
    if (making !== undefined) made = [...made, ...(await listAt(making))];
    making = undefined;
    save();
  }

  /** Whatever fails: the others are removed. @throws the first failure */
  async function remove(these: RunState["made"]): Promise<void> {
    const results = await Promise.allSettled(these.map(({ id }) => deleteIfThere(client, id)));
    const failed = new Set(these.filter((_, index) => results[index]?.status === "rejected"));
    made = made.filter((one) => failed.has(one) || !these.includes(one));
    save();
    for (const result of results) if (result.status === "rejected") throw result.reason;
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
      for (const state of file?.read() ?? []) {
        if (state.api !== run.api || state.account !== run.account || (await isAlive(state))) continue;
        const left = listed.filter((one) => isOf(state, one));
        for (const { id } of left) await deleteIfThere(client, id);
        removed += left.length;
        file?.remove(state.run);
      }
      const others = listed.length - removed;
      if (others > MOST_OTHERS && !yes)
        throw new CommandError(
          EXIT.usage,
          `The account has ${others} subscriptions, so it may be one of your users. Take another token, or confirm with --yes.`,
        );
      return removed;
    },
    /**
     * Makes the subscriptions at a URL, then removes those of the URL before.
     *
     * @returns the ids
     * @throws CommandError where the URL is in use
     */
    async moveTo(notificationUrl: string): Promise<readonly number[]> {
      const before = made;
      for (const { id } of await listAt(notificationUrl))
        throw new CommandError(
          EXIT.failed,
          `The account has subscription ${id} at ${notificationUrl}, which this command did not make. Take another URL, or delete it: hookline subscriptions delete ${id}`,
        );
      making = notificationUrl;
      save();
      const plan = await planSubscriptions(desiredAt(notificationUrl), { client: () => client });
      try {
        await plan.apply();
      } finally {
        // Some may be there, whatever failed.
        await noteMade();
      }
      await remove(before);
      return made.map(({ id }) => id);
    },
    /** Removes all. @throws the first failure; what is left is in the file */
    async end(): Promise<void> {
      await noteMade();
      await remove(made);
    },
  };
}

function isOf({ made, making }: RunState, { id, notificationUrl }: Subscription): boolean {
  const isSame = (url: string | undefined): boolean =>
    url !== undefined && URL.parse(url)?.href === URL.parse(notificationUrl)?.href;
  // The id alone is not enough: an emulator that was started anew counts from the beginning.
  return isSame(making) || made.some((one) => one.id === id && isSame(one.notificationUrl));
}

/** A process that was stopped, such as by Ctrl-Z, listens and does not answer. */
async function isAlive({ run, port }: RunState): Promise<boolean> {
  const got = await askRun(new URL(`http://127.0.0.1:${port}`), run, new AbortController().signal);
  return got === undefined || got === NO_ANSWER;
}

async function listAll(client: Client): Promise<readonly Subscription[]> {
  const all: Subscription[] = [];
  for await (const one of client.subscriptions.list({ includeInactive: true })) all.push(one);
  return all;
}

async function deleteIfThere(client: Client, id: number): Promise<void> {
  try {
    await client.subscriptions.delete(id);
  } catch (error) {
    if (!isHooklineError(error, "service-not-found")) throw error;
  }
}
