import { schemaSql } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { isHooklineError } from "../../index.ts";
import { CommandError, defineCommand, EXIT } from "../command.ts";
import { nonEmpty } from "../flags.ts";

/** `hookline inbox migrate`: the SQL of an inbox in PostgreSQL, for those who run all changes of a schema themselves. */
export const migrateCommand = defineCommand({
  name: "inbox migrate",
  summary: "The SQL that makes or upgrades a PostgreSQL inbox.",
  help: {
    usage: "hookline inbox migrate --print [flags] | psql <database>",
    about: `Print the SQL that makes the tables of an inbox in PostgreSQL, or upgrades them to this version of Hookline.

It needs no server and no driver. Run the SQL before a deploy, as the role of the application, and give the inbox
migrate: false. Running it again changes nothing. Without all that an inbox makes its tables by itself.`,
  },
  flags: {
    print: { about: "Print the SQL. The command does nothing else." },
    schema: {
      ...nonEmpty("the name of a schema"),
      value: "<name>",
      about: "The option schema of postgresInbox. Default: hookline.",
    },
    name: {
      ...nonEmpty("the name of a receiver"),
      value: "<name>",
      about: "The name of the receiver, which has a schema of its own. Default: default.",
    },
  },
  async run({ print, schema = "hookline", name = "default" }, io) {
    if (!print) throw new CommandError(EXIT.usage, "Add --print: the command prints SQL, and connects to no server.");
    io.stdout.write(sqlOf({ schema, name }));
    return EXIT.done;
  },
});

function sqlOf(named: Parameters<typeof schemaSql>[0]): string {
  try {
    return schemaSql(named);
  } catch (error) {
    throw isHooklineError(error, "option-invalid") ? new CommandError(EXIT.usage, error.message) : error;
  }
}
