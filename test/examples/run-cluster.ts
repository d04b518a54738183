import { once } from "node:events";
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { newDatabase } from "../support/postgres.ts";

// What `npm run example:cluster` runs: an example knows nothing of the server that npm brings for the tests.
const given = process.env["DATABASE_URL"];
const database = given === undefined ? await newDatabase() : undefined;
const env = { ...process.env, DATABASE_URL: given ?? database?.connectionString };
const child = fork(fileURLToPath(new URL("../../examples/cluster/local.ts", import.meta.url)), { env });
// A terminal sends Ctrl-C to both: this process removes the server after the example has ended.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
const [code] = (await once(child, "exit")) as [number | null];
await database?.drop();
process.exit(code ?? 1);
