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

It needs no server and no driver. Run the SQL before a deploy, and give the inbox migrate: false. Running it again
changes nothing. The role that runs it owns the tables; with --role another one gets what the inbox needs, and can
make or drop nothing. Without all that an inbox makes its tables by itself.`,
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
    role: {
      ...nonEmpty("the name of a role"),
      value: "<name>",
      about: "The role of the application, where it is not the owner: it gets the rights on rows that the inbox needs.",
    },
  },
  async run({ print, schema = "hookline", name = "default", role }, io) {
    if (!print) throw new CommandError(EXIT.usage, "Add --print: the command prints SQL, and connects to no server.");
    io.stdout.write(sqlOf({ schema, name }, role));
    return EXIT.done;
  },
});

function sqlOf(...given: Parameters<typeof schemaSql>): string {
  try {
    return schemaSql(...given);
  } catch (error) {
    throw isHooklineError(error, "option-invalid") ? new CommandError(EXIT.usage, error.message) : error;
  }
}
