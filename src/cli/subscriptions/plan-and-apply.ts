import { planSubscriptions, type Plan } from "../../subscriptions.ts";
import { CommandError, defineCommand, EXIT, type ExitCode, type Io } from "../command.ts";
import { APP_URL, RESOURCE } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { withPrinter, type Printer } from "../terminal/printer.ts";
import { createTable } from "../terminal/table.ts";
import { ACCOUNT_ENVIRONMENT, ACCOUNT_FLAGS, accountClient } from "./account-client.ts";

const PLAN_FLAGS = {
  resources: { ...RESOURCE, argument: "RESOURCE", many: true },
  to: { ...APP_URL, value: "<url>", about: "The URL of your app's route.", required: true },
  prune: {
    about: "Delete the account's other subscriptions that lead to this URL, and all but the oldest of equal ones.",
  },
  ...ACCOUNT_FLAGS,
} as const;

/** `hookline subscriptions plan`: what `apply` would do. */
export const planCommand = defineCommand({
  name: "subscriptions plan",
  summary: "What apply would create and delete.",
  help: {
    usage: "hookline subscriptions plan --to <url> [flags] <resource>...",
    about: `Print what apply would create, delete and keep. Nothing is changed.

  hookline subscriptions plan --to https://example.com/webhooks /contacts`,
    environment: ACCOUNT_ENVIRONMENT,
  },
  flags: PLAN_FLAGS,
  run: (values, io) => withPrinter(io, "read", (printer) => runPlan(values, io, { printer })),
});

/** `hookline subscriptions apply`: has exactly what is desired. */
export const applyCommand = defineCommand({
  name: "subscriptions apply",
  summary: "Create what an account lacks.",
  help: {
    usage: "hookline subscriptions apply --to <url> [flags] <resource>...",
    about: `Create the subscriptions that the account lacks. Again, it changes nothing more.

  hookline subscriptions apply --to https://example.com/webhooks /contacts

The app must run: the service asks the URL to verify itself before it creates a subscription.`,
    environment: ACCOUNT_ENVIRONMENT,
  },
  flags: PLAN_FLAGS,
  run: (values, io) =>
    withPrinter(io, "change", (printer) => runPlan(values, io, { printer, act: (plan) => plan.apply() })),
});

interface PlanValues {
  readonly resources: readonly string[];
  readonly to: string;
  readonly prune: boolean;
  readonly api: string | undefined;
  readonly json: boolean;
}

/** As `--json` prints it. */
interface Step {
  readonly step: string;
  readonly id?: number;
  readonly resource: string;
  readonly notificationUrl: string;
}

/** The service knows the account by its token; no text names this number. */
const ACCOUNT = 0;

/** Prints the plan once `act` has resolved. */
async function runPlan(
  { resources, to, prune, api, json }: PlanValues,
  { env, stdout }: Io,
  { printer, act }: { readonly printer: Printer; readonly act?: (plan: Plan) => Promise<void> },
): Promise<ExitCode> {
  if (resources.length === 0) throw new CommandError(EXIT.usage, `RESOURCE is missing, expected ${RESOURCE.expects}.`);
  const client = accountClient(env, api);
  const desired = resources.map((resource) => ({ accountId: ACCOUNT, resource, notificationUrl: to }));
  const plan = await planSubscriptions(desired, { client: () => client, prune });
  const [failed] = plan.failed;
  if (failed !== undefined) throw failed.error;
  // Which account it was, only its token says here.
  await act?.(plan).catch((error: Error) => {
    throw error.cause ?? error;
  });
  const { create, remove, keep } = plan;
  const steps: readonly Step[] = [
    ...create.map(({ resource, notificationUrl }) => ({ step: "create", resource, notificationUrl })),
    ...remove.map(({ id, resource, notificationUrl }) => ({ step: "delete", id, resource, notificationUrl })),
    ...keep.map(({ id, resource, notificationUrl }) => ({ step: "keep", id, resource, notificationUrl })),
  ];
  const rows = steps.map(({ step, id, resource, notificationUrl }) => [
    step,
    id === undefined ? "(new)" : String(id),
    toPlain(resource),
    toPlain(notificationUrl),
  ]);
  const lines = json ? steps.map(toJsonLine) : createTable(["STEP", "ID", "RESOURCE", "URL"], stdout).lines(rows);
  await printer.print(lines);
  return EXIT.done;
}
